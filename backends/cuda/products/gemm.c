// Gemm. See product.h.
#include <stdlib.h>

#include "backends/cuda/products/product.h"

static bool has_c(const dp_kernel_spec *spec) { return spec->n_inputs > 2 && spec->inputs[2].present; }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_local *a = &spec->inputs[0].local, *b = &spec->inputs[1].local, *y = &spec->outputs[0].local;
  const bool trans_a = dp_node_int(spec->node, "transA", 0) != 0, trans_b = dp_node_int(spec->node, "transB", 0) != 0;
  dp_product_arguments arguments = {.count = dp_local_count(y),
                                    .m = y->extents[0],
                                    .n = y->extents[1],
                                    .k = a->extents[trans_a ? 0 : 1],
                                    .a_row = trans_a ? 1 : a->extents[1],
                                    .a_column = trans_a ? a->extents[1] : 1,
                                    .b_row = trans_b ? 1 : b->extents[1],
                                    .b_column = trans_b ? b->extents[1] : 1,
                                    .alpha = dp_node_float(spec->node, "alpha", 1),
                                    .beta = dp_node_float(spec->node, "beta", 1)};
  if (has_c(spec)) {
    const dp_local *c = &spec->inputs[2].local;
    const int64_t columns = c->rank > 0 ? c->extents[c->rank - 1] : 1;
    arguments.c_row = c->rank > 1 && c->extents[c->rank - 2] != 1 ? columns : 0;
    arguments.c_column = columns != 1;
  }
  return dp_cuda_product_prepare(spec->inputs[0].dtype, &arguments, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  return dp_cuda_product_enqueue(state, queue, in[0], in[1], has_c(spec) ? in[2] : NULL, out[0]);
}

const dp_kernel dp_kernel_cuda_Gemm = {
    .name = "cuda.device.Gemm",
    .op = "Gemm",
    .domain = "",
    .types = DP_PRODUCT_TYPES,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
