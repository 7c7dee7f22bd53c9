// MatMul. See product.h.
#include <stdlib.h>

#include "backends/base/mat_mul_extents.h"
#include "backends/cuda/products/product.h"

_Static_assert(DP_MAX_RANK <= DP_PRODUCT_DIMS + 2, "all leading dims must fit");

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_mat_mul e = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  dp_product_arguments arguments = {.count = e.batches * e.m * e.n,
                                    .m = e.m,
                                    .n = e.n,
                                    .k = e.k,
                                    .a_row = e.k,
                                    .a_column = 1,
                                    .b_row = e.n,
                                    .b_column = 1,
                                    .rank = e.rank,
                                    .alpha = 1};
  for (int d = 0; d < e.rank; d++) {
    arguments.extents[d] = e.extents[d];
    arguments.a_stride[d] = e.a_stride[d];
    arguments.b_stride[d] = e.b_stride[d];
  }
  return dp_cuda_product_prepare(spec->inputs[0].dtype, &arguments, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  return dp_cuda_product_enqueue(state, queue, in[0], in[1], NULL, out[0]);
}

const dp_kernel dp_kernel_cuda_MatMul = {
    .name = "cuda.device.MatMul",
    .op = "MatMul",
    .domain = "",
    .types = DP_PRODUCT_TYPES,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
