// RandomNormal: normally distributed numbers of shape `shape`. See draw.h.
#include "ir/ops/draw.h"

static dp_status infer(dp_node *node) {
  double scale = dp_node_float(node, "scale", 1);
  if (!(scale >= 0)) return dp_fail(EX_DATAERR, "scale is %g where 0 or more is expected", scale);
  return dp_random_infer_made(node, DP_FLOATS);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)in, (void)training;
  out[0] = dp_draw_normal(b, node, node->outputs[0]->type->dtype, dp_node_float(node, "mean", 0),
                          dp_node_float(node, "scale", 1));
}

static const dp_sample samples[] = {
    {.inputs = "", .attrs = "shape=[5,3]"},
    {.inputs = "", .attrs = "shape=[2], dtype=11, mean=-2.5, scale=0.5, seed=3.0"},
    {.inputs = "", .attrs = "shape=[2], dtype=10"},
    {.inputs = "", .attrs = "shape=[2], dtype=16"},
    {0},
};

const dp_op dp_op_onnx_RandomNormal = {
    .name = "RandomNormal",
    .domain = "",
    .n_inputs = 0,
    .n_outputs = 1,
    .outputs = {DP_OPERAND("output", DP_FLOATS, 0)},
    .attrs = {DP_FLOAT_ATTR("mean", 0), DP_FLOAT_ATTR("scale", 1), DP_DRAW_SEED_ATTR, DP_SHAPE_ATTR("shape"),
              DP_INT_ATTR("dtype", DP_FLOAT32)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
