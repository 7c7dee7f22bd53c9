// dp.SliceGrad(dy) {shape, starts, ends, axes, steps}: zeros of that shape, with dy where Slice takes its elements.
// Linear.
#include "ir/ops/slice.h"

static dp_status infer(dp_node *node) {
  dp_shape x, y;
  dp_slice s;
  DP_TRY(dp_common_shape_attr(node, "shape", &x));
  DP_TRY(dp_slice_make(node, &x, &s));
  y = (dp_shape){.rank = x.rank};
  for (int d = 0; d < x.rank; d++) y.dims[d] = s.extent[d];
  DP_TRY(dp_common_expect("the gradient", dp_common_shape(node, 0), &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &x);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  dp_slice_sharding(rules, &rules->node->outputs[0]->type->shape, false);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4]", .attrs = "shape=[N,12], starts=[4], ends=[8], axes=[1]", .n = 4},
    {.inputs = "float32[N,2,4]",
     .attrs = "shape=[N,5,7], starts=[-1,1], ends=[-9223372036854775807,100], axes=[2,-2], steps=[-2,3]",
     .n = 3},
    {0},
};

const dp_op dp_op_SliceGrad = {
    .name = "SliceGrad",
    .domain = "dp",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T')},
    .attrs = {DP_SHAPE_ATTR("shape"), DP_INTS_ATTR("starts"), DP_INTS_ATTR("ends"), DP_INTS_ATTR("axes"),
              DP_INTS_ATTR("steps")},
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
