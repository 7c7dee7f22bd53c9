// See region_normalization.h.
#include "backends/cuda/kernels/region_normalization.h"

#include <string.h>

#include "backends/cuda/kernels/member.h"
#include "backends/cuda/kernels/region_sum.h"
#include "ir/kernel/extents.h"

enum { X, SCALE, BIAS };

static bool is_normalization(const dp_kernel_member *member) {
  return dp_member_is_named(member, "LayerNormalization") || dp_member_is_named(member, "RMSNormalization");
}

static bool has_other_results(const dp_kernel_member *member) {
  for (int k = 1; k < member->n_outputs; k++)
    if (member->outputs[k] >= 0) return true;
  return false;
}

// The member that makes the value; -1: none, it is the region's operand.
static int maker_of(const dp_kernel_region *r, int32_t value) {
  for (int m = 0; m < r->n_members; m++)
    for (int k = 0; k < r->members[m].n_outputs; k++)
      if (r->members[m].outputs[k] == value) return m;
  return -1;
}

// The maker of a value that it alone makes for member m, if it has the operator; -1: it has another.
static int maker_for(const dp_kernel_spec *region, int m, int32_t value, const char *op) {
  const int maker = maker_of(region->region, value);
  if (maker < 0 || !dp_member_is_named(&region->region->members[maker], op)) return -1;
  return dp_cuda_region_user(region, value) == m ? maker : -1;
}

// ---- what comes before ----------------------------------------------------------------------------------------------

// The elements that member m normalizes together.
static int64_t length_of(const dp_kernel_region *r, int m) {
  const dp_local *x = &r->values[r->members[m].inputs[X]].local;
  return dp_product(x->extents, dp_axis(dp_node_int(r->members[m].node, "axis", -1), x->rank), x->rank);
}

// Takes the Cast that makes the sum's operand along, and a bias that is added before it: one for each element of what
// member m normalizes.
static void take_cast(const dp_kernel_spec *region, int m, dp_cuda_region_normalization *n) {
  const dp_kernel_region *r = region->region;
  n->before = maker_for(region, n->add, n->x, "Cast");
  if (n->before < 0) return;
  const int32_t narrow = r->members[n->before].inputs[0];
  if (!dp_cuda_region_is_half(r, narrow) || r->values[n->other].dtype != DP_FLOAT32) {
    n->before = -1;
    return;
  }
  n->x = narrow;
  const int bias = maker_for(region, n->before, narrow, "Add");
  for (int i = 0; i < 2 && bias >= 0; i++) {
    const int32_t x = r->members[bias].inputs[i], row = r->members[bias].inputs[1 - i];
    const dp_local *of_row = &r->values[row].local;
    if (!dp_cuda_region_alike(r, x, narrow) || !dp_cuda_region_is_row_of(of_row, &r->values[x].local)) continue;
    if (dp_local_count(of_row) != length_of(r, m)) continue;
    n->bias = bias;
    n->x = x;
    n->row = row;
    return;
  }
}

// Whether a product adds the residual: memory is gone through once less by that.
static bool is_of_product(const dp_kernel_spec *region, int add) {
  dp_cuda_region_sum sum;
  for (int m = 0; m < add; m++)
    if (dp_cuda_region_sum_of(region, m, &sum) && sum.add == add) return true;
  return false;
}

// Takes the sum along that makes what member m normalizes.
static void take_sum(const dp_kernel_spec *region, int m, dp_cuda_region_normalization *n) {
  const dp_kernel_region *r = region->region;
  const int32_t sum = n->x;
  const int add = maker_of(r, sum);
  if (add < 0 || !dp_member_is_named(&r->members[add], "Add") || is_of_product(region, add)) return;
  const int32_t a = r->members[add].inputs[0], b = r->members[add].inputs[1];
  if (!dp_cuda_region_alike(r, a, sum) || !dp_cuda_region_alike(r, b, sum)) return;
  const bool swapped = maker_for(region, add, a, "Cast") >= 0;
  n->add = add;
  n->x = swapped ? a : b;
  n->other = swapped ? b : a;
  n->sum = dp_cuda_region_user(region, sum) == m ? -1 : sum;
  take_cast(region, m, n);
}

static bool is_along(const dp_cuda_region_normalization *n, int m) {
  return m == n->bias || m == n->before || m == n->add || m == n->after;
}

static bool reads(const dp_kernel_member *member, int32_t value) {
  for (int i = 0; i < member->n_inputs && value >= 0; i++)
    if (member->inputs[i] == value) return true;
  return false;
}

// Whether it is the same if the members before m are computed where m is: none between needs the sum already, and none
// makes a result, which may lie on an operand that they read.
static bool can_wait(const dp_kernel_spec *region, int m, const dp_cuda_region_normalization *n) {
  const dp_kernel_region *r = region->region;
  const int first = n->bias >= 0 ? n->bias : n->before >= 0 && n->before < n->add ? n->before : n->add;
  for (int between = first; between < m; between++) {
    if (is_along(n, between)) continue;
    if (reads(&r->members[between], n->sum)) return false;
    for (int k = 0; k < r->members[between].n_outputs; k++)
      if (r->members[between].outputs[k] >= 0 && r->members[between].outputs[k] < region->n_inputs + region->n_outputs)
        return false;
  }
  return true;
}

// ---- what comes behind ----------------------------------------------------------------------------------------------

// Whether a member between m and the Cast reads an operand of the region. The Cast's result may lie there, and would be
// written before that.
static bool is_read_between(const dp_kernel_spec *region, int m, int cast) {
  for (int between = m + 1; between < cast; between++) {
    const dp_kernel_member *member = &region->region->members[between];
    for (int i = 0; i < member->n_inputs; i++)
      if (member->inputs[i] >= 0 && member->inputs[i] < region->n_inputs) return true;
  }
  return false;
}

static void take_cast_behind(const dp_kernel_spec *region, int m, dp_cuda_region_normalization *n) {
  const dp_kernel_region *r = region->region;
  const int cast = dp_cuda_region_user(region, n->made);
  if (cast < 0 || !dp_member_is_named(&r->members[cast], "Cast") || is_read_between(region, m, cast)) return;
  n->after = cast;
  n->made = r->members[cast].outputs[0];
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static bool has_kernel(const dp_kernel_region *r, int m, const dp_cuda_region_normalization *n) {
  dp_member_spec made;
  dp_cuda_region_normalization_spec(r, m, n, &made);
  return dp_cuda_member_kernel(&made) != NULL;
}

bool dp_cuda_region_normalization_of(const dp_kernel_spec *region, int m, dp_cuda_region_normalization *n) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *member = &r->members[m];
  if (!is_normalization(member) || has_other_results(member)) return false;
  const dp_cuda_region_normalization alone = {-1, -1, -1, -1, member->inputs[X], -1, -1, -1, member->outputs[0]};
  *n = alone;
  take_sum(region, m, n);
  if (n->add >= 0 && (!can_wait(region, m, n) || !has_kernel(r, m, n))) *n = alone;
  const dp_cuda_region_normalization before = *n;
  take_cast_behind(region, m, n);
  if (n->after >= 0 && !has_kernel(r, m, n)) *n = before;
  return n->add >= 0 || n->after >= 0;
}

void dp_cuda_region_normalization_values(const dp_kernel_region *r, int m, const dp_cuda_region_normalization *n,
                                         int32_t *in, int32_t *out) {
  const dp_kernel_member *member = &r->members[m];
  in[X] = n->x;
  in[SCALE] = member->inputs[SCALE];
  in[BIAS] = member->n_inputs > BIAS ? member->inputs[BIAS] : -1;
  in[DP_CUDA_NORMALIZATION_OTHER] = n->other;
  in[DP_CUDA_NORMALIZATION_ROW] = n->row;
  for (int k = 0; k < DP_CUDA_NORMALIZATION_OUTPUTS; k++) out[k] = -1;
  out[0] = n->made;
  out[DP_CUDA_NORMALIZATION_SUM] = n->sum;
}

void dp_cuda_region_normalization_spec(const dp_kernel_region *r, int m, const dp_cuda_region_normalization *n,
                                       dp_member_spec *made) {
  int32_t in[DP_CUDA_NORMALIZATION_INPUTS], out[DP_CUDA_NORMALIZATION_OUTPUTS];
  dp_cuda_region_normalization_values(r, m, n, in, out);
  dp_member_spec_make(r, m, r->values, made);
  made->spec.n_inputs = DP_CUDA_NORMALIZATION_INPUTS;
  made->spec.n_outputs = DP_CUDA_NORMALIZATION_OUTPUTS;
  for (int i = 0; i < DP_CUDA_NORMALIZATION_INPUTS; i++)
    made->inputs[i] = in[i] < 0 ? (dp_kernel_operand){0} : r->values[in[i]];
  for (int k = 0; k < DP_CUDA_NORMALIZATION_OUTPUTS; k++)
    made->outputs[k] = out[k] < 0 ? (dp_kernel_operand){0} : r->values[out[k]];
}
