// See region_convolution.h.
#include "backends/cuda/kernels/region_convolution.h"

#include <string.h>

#include "backends/cuda/kernels/region_sum.h"

enum { BIAS = 2 };

static bool has_type(const dp_kernel_region *r, int32_t value) {
  const dp_dtype dtype = r->values[value].dtype;
  return dtype == DP_FLOAT32 || dtype == DP_FLOAT16 || dtype == DP_BFLOAT16;
}

static bool is_like(const dp_kernel_region *r, int32_t a, int32_t b) {
  return dp_cuda_region_alike(r, a, b) && r->values[a].layout == r->values[b].layout;
}

// Member `next`, if it has the operator, alone uses the value, and makes one like it; -1: it does not.
static int follows(const dp_kernel_spec *region, int next, int32_t value, const char *op) {
  const dp_kernel_region *r = region->region;
  if (next >= r->n_members || !dp_member_is_named(&r->members[next], op)) return -1;
  const bool alone = dp_cuda_region_user(region, value) == next && is_like(r, value, r->members[next].outputs[0]);
  return alone ? next : -1;
}

bool dp_cuda_region_convolution_of(const dp_kernel_spec *region, int m, dp_cuda_region_convolution *c) {
  const dp_kernel_region *r = region->region;
  const dp_kernel_member *member = &r->members[m];
  *c = (dp_cuda_region_convolution){-1, -1, -1, member->outputs[0]};
  if (!dp_member_is_named(member, "Conv") || member->n_inputs <= BIAS || member->inputs[BIAS] < 0) return false;
  if (!has_type(r, c->made)) return false;
  const int add = follows(region, m + 1, c->made, "Add");
  if (add >= 0) {
    const int32_t residual = r->members[add].inputs[r->members[add].inputs[0] == c->made];
    if (is_like(r, residual, c->made)) *c = (dp_cuda_region_convolution){add, -1, residual, r->members[add].outputs[0]};
  }
  // cuDNN's Relu makes the largest float of infinity, which is infinity again in 16 bits alone.
  if (r->values[c->made].dtype != DP_FLOAT32)
    c->relu = follows(region, c->add >= 0 ? c->add + 1 : m + 1, c->made, "Relu");
  if (c->relu >= 0) c->made = r->members[c->relu].outputs[0];
  return c->add >= 0 || c->relu >= 0;
}

int dp_cuda_region_convolution_end(int m, const dp_cuda_region_convolution *c) {
  return m + 1 + (c->add >= 0) + (c->relu >= 0);
}

void dp_cuda_region_convolution_values(const dp_kernel_region *r, int m, const dp_cuda_region_convolution *c,
                                       int32_t *in, int32_t *out) {
  const dp_kernel_member *member = &r->members[m];
  for (int i = 0; i < DP_MAX_OPERANDS; i++) in[i] = i < member->n_inputs ? member->inputs[i] : -1;
  for (int k = 0; k < DP_MAX_OPERANDS; k++) out[k] = -1;
  in[DP_CUDA_CONVOLUTION_RESIDUAL] = c->residual;
  out[0] = c->made;
}

void dp_cuda_region_convolution_spec(const dp_kernel_region *r, int m, const dp_cuda_region_convolution *c,
                                     dp_member_spec *made) {
  dp_member_spec_make(r, m, r->values, made);
  if (c->add >= 0) {
    made->spec.n_inputs = DP_CUDA_CONVOLUTION_INPUTS;
    made->inputs[DP_CUDA_CONVOLUTION_RESIDUAL] = r->values[c->residual];
  }
  if (c->relu >= 0) made->spec.then = r->members[c->relu].node;
  made->outputs[0] = r->values[c->made];
}
