// GlobalAveragePool: the mean over all spatial dims, which stay with extent 1. Kernels divide by the whole count, so a
// split of a spatial dim gives partial sums. Linear.
#include "ir/ops/common.h"

static dp_status infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  char text[256];
  if (y.rank < 3)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, spatial extents...] is expected",
                   dp_shape_print(&y, text, sizeof text));
  for (int d = 2; d < y.rank; d++) y.dims[d] = dp_dim_of(1);
  dp_common_set(node, 0, node->inputs[0]->type.dtype, &y);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t axes[DP_MAX_RANK];
  for (int d = 2; d < x->rank; d++) axes[d - 2] = d;
  dp_value *count = dp_build_count(b, x, axes, (size_t)x->rank - 2, dy[0]->type.dtype);
  dp_value *share = dp_build2(b, "Div", dy[0], count);
  dp_attr shape = dp_attr_dims(b->graph->arena, "shape", x);
  dx[0] = dp_build(b, "Expand", 1, &share, 1, 1, &shape);
}

static void placements(dp_rows *rows) {
  const dp_shape *x = dp_common_shape(rows->node, 0);
  for (int d = 0; d < x->rank; d++) {
    int out = d < 2 ? d : DP_SUMMED;
    dp_rows_split(rows, x->dims[d], &d, &out);
  }
  dp_rows_linear(rows, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4,5]", .n = 3},
    {.inputs = "float32[N,2,7]", .n = 5},
    {.inputs = "float32[N,2,2,3,2]", .n = 2},
    {0},
};

const dp_op dp_op_GlobalAveragePool = {
    .name = "GlobalAveragePool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .infer = infer,
    .gradient = gradient,
    .placements = placements,
    .samples = samples,
};
