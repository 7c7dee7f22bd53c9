// Gather: the slices of data along `axis` at the indices. A negative index counts from the end; one out of range is an
// error of the data. The result's dims are data's before the axis, the indices', data's after it. Linear in data. A
// part of data along the axis gives zeros for slices of other parts, so that the sum over the parts is the result.
// The index padding_idx, if given, passes no gradient on.
#include "ir/ops/common.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0), *indices = dp_common_shape(node, 1);
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, &axis));
  if (x->rank + indices->rank - 1 > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "the result would have %d dims; tensors of up to %d are supported",
                   x->rank + indices->rank - 1, DP_MAX_RANK);
  dp_shape y = {0};
  for (int d = 0; d < axis; d++) y.dims[y.rank++] = x->dims[d];
  for (int d = 0; d < indices->rank; d++) y.dims[y.rank++] = indices->dims[d];
  for (int d = axis + 1; d < x->rank; d++) y.dims[y.rank++] = x->dims[d];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// dy, with 0 where the index is padding_idx.
static dp_value *without_padding(dp_builder *b, const dp_node *node, dp_value *dy) {
  dp_value *indices = node->inputs[1];
  const double padding = (double)dp_node_int(node, DP_ATTR_PADDING, 0);
  dp_value *is = dp_build2(b, "Equal", indices, dp_build_fill(b, indices->type->dtype, padding));
  dp_shape shape = {.rank = dy->type->shape.rank};  // of the indices, at their position among dy's dims
  for (int d = 0; d < shape.rank; d++) shape.dims[d] = dp_dim_of(1);
  for (int d = 0; d < indices->type->shape.rank; d++) shape.dims[axis_of(node) + d] = indices->type->shape.dims[d];
  dp_value *operands[] = {dp_build_reshape(b, is, &shape), dp_build_fill(b, dy->type->dtype, 0), dy};
  return dp_build(b, "Where", 3, operands, 1, 0, NULL);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *passed = dp_node_attr(node, DP_ATTR_PADDING) ? without_padding(b, node, dy[0]) : dy[0];
  dp_attr attrs[] = {dp_attr_int("axis", axis_of(node)),
                     dp_attr_dims(b->graph->arena, "shape", dp_common_shape(node, 0))};
  dx[0] = dp_build(b, "dp.GatherGrad", 2, (dp_value *[]){passed, node->inputs[1]}, 1, 2, attrs);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0), *indices = dp_common_shape(rules->node, 1);
  int axis = axis_of(rules->node);
  for (int d = 0; d < x->rank; d++) {
    int out = d < axis ? d : d == axis ? DP_SUMMED : d - 1 + indices->rank;
    if (d == axis && rules->node->inputs[0]->type->dtype == DP_BOOL) continue;
    dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE}, &out);
  }
  for (int d = 0; d < indices->rank; d++) {
    int out = axis + d;
    dp_sharding_split(rules, indices->dims[d], (int[]){DP_WHOLE, d}, &out);
  }
  dp_sharding_linear(rules, 1);
}

static bool refuses(const dp_node *node, dp_refusal *refusal) {
  *refusal = (dp_refusal){
      .operand = 1, .bounded = true, .limit = dp_common_shape(node, 0)->dims[axis_of(node)], .negative = true};
  return true;
}

static const dp_sample samples[] = {
    {.inputs = "float32[9,4], int64[N,3]", .n = 4, .low = -9, .high = 8},
    {.inputs = "float32[9,4], int64[N,3]", .attrs = "padding_idx=8", .n = 4, .low = 0, .high = 7},
    {.inputs = "float32[N,5,3], int32[2]", .attrs = "axis=1", .n = 4, .low = -5, .high = 4},
    {.inputs = "float32[N,2,6], int64[]", .attrs = "axis=-1", .n = 3, .low = -6, .high = 5},
    {.inputs = "float32[7], int64[N,2,2]", .n = 3, .low = 0, .high = 6},
    {.inputs = "int32[N,6], int64[6]", .attrs = "axis=1", .n = 3, .low = 0, .high = 5},
    {.inputs = "int64[5,2], int64[N]", .n = 4, .low = 0, .high = 4},
    {.inputs = "uint8[5], int32[6]", .low = 0, .high = 4},
    {.inputs = "bool[2,3], int64[N]", .n = 4, .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Gather = {
    .name = "Gather",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_OPERAND("indices", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("axis", 0), {.name = DP_ATTR_PADDING, .kind = DP_ATTR_INT}},
    .refuses = refuses,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
