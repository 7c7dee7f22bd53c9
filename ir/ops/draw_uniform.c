// RandomUniform: numbers in [low, high) of shape `shape`. See draw.h.
#include "ir/ops/draw.h"

static dp_status infer(dp_node *node) {
  double low = dp_node_float(node, "low", 0), high = dp_node_float(node, "high", 1);
  if (!(low <= high)) return dp_fail(EX_DATAERR, "low is %g and high is %g: an empty range", low, high);
  return dp_random_infer_made(node, DP_FLOATS);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)in, (void)training;
  out[0] = dp_draw_uniform(b, node, node->outputs[0]->type->dtype, dp_node_float(node, "low", 0),
                           dp_node_float(node, "high", 1));
}

static const dp_sample samples[] = {
    {.inputs = "", .attrs = "shape=[5,3]"},
    {.inputs = "", .attrs = "shape=[2], dtype=11, low=-2.5, high=0.5, seed=3.0"},
    {.inputs = "", .attrs = "shape=[2], dtype=10"},
    {.inputs = "", .attrs = "shape=[2], dtype=16"},
    {0},
};

const dp_op dp_op_onnx_RandomUniform = {
    .name = "RandomUniform",
    .domain = "",
    .n_inputs = 0,
    .n_outputs = 1,
    .outputs = {DP_OPERAND("output", DP_FLOATS, 0)},
    .attrs = {DP_FLOAT_ATTR("low", 0), DP_FLOAT_ATTR("high", 1), DP_DRAW_SEED_ATTR, DP_SHAPE_ATTR("shape"),
              DP_INT_ATTR("dtype", DP_FLOAT32)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
