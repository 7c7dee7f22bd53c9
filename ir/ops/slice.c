// Slice: along each of `axes`, every steps-th element from starts to before ends, backwards when the step is negative;
// negative positions count from the end, those beyond it mean the end. Linear.
#include "ir/ops/slice.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  dp_slice s;
  DP_TRY(dp_slice_make(node, x, &s));
  dp_shape y = {.rank = x->rank};
  for (int d = 0; d < x->rank; d++) y.dims[d] = s.extent[d];
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_arena *arena = b->graph->arena;
  dp_attr *attrs = dp_common_attrs_and(arena, node, dp_attr_dims(arena, "shape", dp_common_shape(node, 0)));
  dx[0] = dp_build(b, "dp.SliceGrad", 1, dy, 1, node->n_attrs + 1, attrs);
}

static void placements(dp_sharding_rules *rules) { dp_slice_sharding(rules, dp_common_shape(rules->node, 0), true); }

static const dp_sample samples[] = {
    {.inputs = "float32[N,12]", .attrs = "starts=[4], ends=[8], axes=[1]", .n = 4},
    {.inputs = "float32[N,5,7]",
     .attrs = "starts=[-1,1], ends=[-9223372036854775807,100], axes=[2,-2], steps=[-2,3]",
     .n = 3},
    {.inputs = "float32[5,N]", .attrs = "starts=[1,0], ends=[-1,9223372036854775807]", .n = 3},
    {.inputs = "float32[N,6]", .attrs = "starts=[4], ends=[2], axes=[1]", .n = 2},
    {.inputs = "int32[N,6]", .attrs = "starts=[1], ends=[6], axes=[1], steps=[2]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[7]", .attrs = "starts=[6], ends=[-8], steps=[-1]", .low = -9, .high = 9},
    {.inputs = "uint8[2,4]", .attrs = "starts=[0], ends=[2], axes=[1]", .low = 0, .high = 255},
    {.inputs = "bool[8]", .attrs = "starts=[-3], ends=[2147483647]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Slice = {
    .name = "Slice",
    .domain = "",
    .n_inputs = 5,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_ANY_TYPE, 'T'), DP_AS_ATTR("starts", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), false),
               DP_AS_ATTR("ends", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), false),
               DP_AS_ATTR("axes", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), true),
               DP_AS_ATTR("steps", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INTS_ATTR("starts"), DP_INTS_ATTR("ends"), DP_INTS_ATTR("axes"), DP_INTS_ATTR("steps")},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
