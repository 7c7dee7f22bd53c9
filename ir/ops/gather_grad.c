// dp.GatherGrad(dy, indices) {axis, shape}: zeros of that shape, with the slices of dy added to the slices along the
// axis at the indices. If the result is split, each device makes its own part; split indices give partial sums.
#include "ir/ops/common.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + (int)dp_node_attr(node, "shape")->count : axis);
}

static dp_status infer(dp_node *node) {
  dp_shape x, y = {0};
  const dp_shape *indices = dp_common_shape(node, 1);
  int axis;
  DP_TRY(dp_common_shape_attr(node, "shape", &x));
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x.rank, &axis));
  if (x.rank + indices->rank - 1 > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "shape and indices have %d dims together; up to %d are supported",
                   x.rank + indices->rank, DP_MAX_RANK + 1);
  for (int d = 0; d < axis; d++) y.dims[y.rank++] = x.dims[d];
  for (int d = 0; d < indices->rank; d++) y.dims[y.rank++] = indices->dims[d];
  for (int d = axis + 1; d < x.rank; d++) y.dims[y.rank++] = x.dims[d];
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 0), &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &x);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *dx = &rules->node->outputs[0]->type->shape, *indices = dp_common_shape(rules->node, 1);
  int axis = axis_of(rules->node);
  for (int d = 0; d < dx->rank; d++) {
    int in = d < axis ? d : d == axis ? DP_WHOLE : d - 1 + indices->rank;
    dp_sharding_split(rules, dx->dims[d], (int[]){in, DP_WHOLE}, &d);
  }
  for (int d = 0; d < indices->rank; d++)
    dp_sharding_split(rules, indices->dims[d], (int[]){axis + d, d}, (int[]){DP_SUMMED});
  dp_sharding_linear(rules, 1);
}

static bool refuses(const dp_node *node, dp_refusal *refusal) {
  *refusal = (dp_refusal){
      .operand = 1, .bounded = true, .limit = node->outputs[0]->type->shape.dims[axis_of(node)], .negative = true};
  return true;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4], int64[N,3]", .attrs = "shape=[9,4]", .n = 4, .low = -9, .high = 8},
    {.inputs = "float32[N,2,3], int32[2]", .attrs = "axis=1, shape=[N,5,3]", .n = 4, .low = -5, .high = 4},
    {.inputs = "float32[N,2], int64[]", .attrs = "axis=-1, shape=[N,2,6]", .n = 3, .low = -6, .high = 5},
    {0},
};

const dp_op dp_op_GatherGrad = {
    .name = "GatherGrad",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("dY", DP_FLOATS, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", 0), DP_SHAPE_ATTR("shape")},
    .refuses = refuses,
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
