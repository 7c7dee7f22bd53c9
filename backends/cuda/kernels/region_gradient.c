// See region_gradient.h.
#include "backends/cuda/kernels/region_gradient.h"

#include <string.h>

#include "backends/cuda/kernels/member.h"
#include "backends/cuda/kernels/region_sum.h"

enum { X, SCALE, DY };
enum { DX, DSCALE, DBIAS };

static bool is_gradient(const dp_kernel_member *member) {
  static const char *const names[] = {"LayerNormalizationGrad", "RMSNormalizationGrad"};
  for (size_t i = 0; i < DP_COUNT(names) && !strcmp(member->op->domain, "dp"); i++)
    if (!strcmp(member->op->name, names[i])) return true;
  return false;
}

// The Cast from 16 bits that makes what member m alone takes; -1: none.
static int cast_before(const dp_kernel_spec *region, int m, int32_t value) {
  const dp_kernel_region *r = region->region;
  for (int c = 0; c < m; c++)
    if (dp_member_is_cast(&r->members[c]) && r->members[c].outputs[0] == value)
      return dp_cuda_region_is_half(r, r->members[c].inputs[0]) && dp_cuda_region_user(region, value) == m ? c : -1;
  return -1;
}

// The Add that alone takes the value, whose other operand is the region's; -1: none.
static int add_behind(const dp_kernel_spec *region, int32_t value, int32_t *other) {
  const dp_kernel_region *r = region->region;
  const int add = dp_cuda_region_user(region, value);
  if (add < 0 || !dp_member_is_named(&r->members[add], "Add")) return -1;
  *other = r->members[add].inputs[r->members[add].inputs[0] == value];
  const dp_local *rows = &r->values[value].local;
  const bool same = dp_cuda_region_same_extents(rows, &r->values[*other].local) &&
                    dp_cuda_region_same_extents(rows, &r->values[r->members[add].outputs[0]].local);
  return same && *other < region->n_inputs ? add : -1;
}

// The first Cast of the value to 16 bits; -1: none. alone: whether nothing else needs the value.
static int cast_behind(const dp_kernel_spec *region, int32_t value, bool *alone) {
  const dp_kernel_region *r = region->region;
  *alone = dp_cuda_region_user(region, value) >= 0;
  for (int c = 0; c < r->n_members; c++)
    if (dp_member_is_cast(&r->members[c]) && r->members[c].inputs[0] == value &&
        dp_cuda_region_is_half(r, r->members[c].outputs[0]))
      return c;
  return -1;
}

bool dp_cuda_region_gradient_of(const dp_kernel_spec *region, int m, dp_cuda_region_gradient *g) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *member = &r->members[m];
  if (!is_gradient(member)) return false;
  *g = (dp_cuda_region_gradient){-1, -1, -1, member->inputs[DY], -1, member->outputs[DX], -1};
  const bool casts = r->values[member->inputs[X]].dtype == DP_FLOAT32;
  if (casts) g->before = cast_before(region, m, g->dy);
  if (g->before >= 0) g->dy = r->members[g->before].inputs[0];
  int32_t other = -1;
  g->add = add_behind(region, g->made, &other);
  if (g->add >= 0) {
    g->other = other;
    g->made = r->members[g->add].outputs[0];
  }
  bool alone = false;
  if (casts) g->after = cast_behind(region, g->made, &alone);
  if (g->after >= 0) {
    g->narrow = r->members[g->after].outputs[0];
    if (alone) g->made = -1;
  }
  if (g->before < 0 && g->add < 0 && g->after < 0) return false;
  dp_member_spec made;
  dp_cuda_region_gradient_spec(r, m, g, &made);
  return dp_cuda_member_kernel(&made) != NULL;
}

void dp_cuda_region_gradient_values(const dp_kernel_region *r, int m, const dp_cuda_region_gradient *g, int32_t *in,
                                    int32_t *out) {
  const dp_kernel_member *member = &r->members[m];
  in[X] = member->inputs[X];
  in[SCALE] = member->inputs[SCALE];
  in[DY] = g->dy;
  in[DP_CUDA_GRADIENT_OTHER] = g->other;
  out[DX] = g->made;
  for (int k = DSCALE; k <= DBIAS; k++) out[k] = k < member->n_outputs ? member->outputs[k] : -1;
  out[DP_CUDA_GRADIENT_NARROW] = g->narrow;
}

void dp_cuda_region_gradient_spec(const dp_kernel_region *r, int m, const dp_cuda_region_gradient *g,
                                  dp_member_spec *made) {
  int32_t in[DP_CUDA_GRADIENT_INPUTS], out[DP_CUDA_GRADIENT_OUTPUTS];
  dp_cuda_region_gradient_values(r, m, g, in, out);
  dp_member_spec_make(r, m, r->values, made);
  made->spec.n_inputs = DP_CUDA_GRADIENT_INPUTS;
  made->spec.n_outputs = DP_CUDA_GRADIENT_OUTPUTS;
  for (int i = 0; i < DP_CUDA_GRADIENT_INPUTS; i++)
    made->inputs[i] = in[i] < 0 ? (dp_kernel_operand){0} : r->values[in[i]];
  for (int k = 0; k < DP_CUDA_GRADIENT_OUTPUTS; k++)
    made->outputs[k] = out[k] < 0 ? (dp_kernel_operand){0} : r->values[out[k]];
}
