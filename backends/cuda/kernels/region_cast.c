// See region_cast.h.
#include "backends/cuda/kernels/region_cast.h"

#include <string.h>

#include "backends/cuda/kernels/member.h"
#include "backends/cuda/kernels/region_sum.h"

static bool is_normalization(const dp_kernel_member *member) {
  static const char *const names[] = {"LayerNormalization", "RMSNormalization"};
  for (size_t i = 0; i < DP_COUNT(names) && !*member->op->domain; i++)
    if (!strcmp(member->op->name, names[i])) return true;
  return false;
}

static bool has_other_results(const dp_kernel_member *member) {
  for (int k = 1; k < member->n_outputs; k++)
    if (member->outputs[k] >= 0) return true;
  return false;
}

// Whether a member between the two reads an operand of the region. The Cast's result may lie there, and would be
// written before that.
static bool is_read_between(const dp_kernel_spec *region, int m, int cast) {
  for (int between = m + 1; between < cast; between++) {
    const dp_kernel_member *member = &region->region->members[between];
    for (int i = 0; i < member->n_inputs; i++)
      if (member->inputs[i] >= 0 && member->inputs[i] < region->n_inputs) return true;
  }
  return false;
}

int dp_cuda_region_cast_of(const dp_kernel_spec *region, int m) {
  const dp_kernel_member *member = &region->region->members[m];
  if (!is_normalization(member) || has_other_results(member)) return -1;
  const int cast = dp_cuda_region_user(region, member->outputs[0]);
  if (cast < 0 || *region->region->members[cast].op->domain || strcmp(region->region->members[cast].op->name, "Cast"))
    return -1;
  if (is_read_between(region, m, cast)) return -1;
  dp_member_spec made;
  dp_cuda_region_cast_spec(region, m, cast, &made);
  return dp_cuda_member_kernel(&made) ? cast : -1;
}

void dp_cuda_region_cast_spec(const dp_kernel_spec *region, int m, int cast, dp_member_spec *made) {
  const dp_kernel_region *r = region->region;
  dp_member_spec_make(r, m, r->values, made);
  made->outputs[0] = r->values[r->members[cast].outputs[0]];
}
