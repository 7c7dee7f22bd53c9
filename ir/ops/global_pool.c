// Pools over all spatial dims. See global_pool.h.
#include "ir/ops/global_pool.h"

dp_status dp_global_pool_infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  char text[256];
  if (y.rank < 3)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, spatial extents...] is expected",
                   dp_shape_print(&y, text, sizeof text));
  for (int d = 2; d < y.rank; d++) y.dims[d] = dp_dim_of(1);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

size_t dp_global_pool_axes(const dp_shape *x, int64_t axes[DP_MAX_RANK]) {
  for (int d = 2; d < x->rank; d++) axes[d - 2] = d;
  return (size_t)x->rank - 2;
}

dp_value *dp_global_pool_reduce(dp_builder *b, const char *op, dp_value *x) {
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_global_pool_axes(&x->type->shape, axes);
  return dp_build_reduce(b, op, x, axes, n_axes, true);
}
