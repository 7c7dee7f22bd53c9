// RandomUniformLike: numbers in [low, high) of the operand's shape and, without dtype, its type. See draw.h.
#include "ir/ops/draw.h"

static dp_status infer(dp_node *node) {
  double low = dp_node_float(node, "low", 0), high = dp_node_float(node, "high", 1);
  if (!(low <= high)) return dp_fail(EX_DATAERR, "low is %g and high is %g: an empty range", low, high);
  return dp_draw_infer_like(node, DP_FLOATS);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)in, (void)training;
  out[0] = dp_draw_uniform(b, node, node->outputs[0]->type->dtype, dp_node_float(node, "low", 0),
                           dp_node_float(node, "high", 1));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "int64[2,N]", .attrs = "dtype=11, low=-2.5, high=0.5, seed=3.0", .n = 3, .low = -9, .high = 9},
    {.inputs = "int32[2]", .attrs = "dtype=1", .low = -9, .high = 9},
    {.inputs = "uint8[2]", .attrs = "dtype=10", .low = 0, .high = 9},
    {.inputs = "bool[2]", .attrs = "dtype=16", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_RandomUniformLike = {
    .name = "RandomUniformLike",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 0)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 0)},
    .attrs = {DP_FLOAT_ATTR("low", 0),
              DP_FLOAT_ATTR("high", 1),
              DP_DRAW_SEED_ATTR,
              {.name = "dtype", .kind = DP_ATTR_INT}},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
