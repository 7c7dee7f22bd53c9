// SwiGLU: a * sigmoid(alpha a) * b. Specialized into Swish and Mul.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_common_expect("B", dp_common_shape(node, 1), dp_common_shape(node, 0)));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_attr alpha = dp_attr_float("alpha", dp_node_float(node, "alpha", 1));
  out[0] = dp_build2(b, "Mul", dp_build(b, "Swish", 1, in, 1, 1, &alpha), in[1]);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 4},
    {.inputs = "float32[2,N], float32[2,N]", .attrs = "alpha=0.5", .n = 4},
    {0},
};

const dp_op dp_op_SwiGLU = {
    .name = "SwiGLU",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("A", DP_FLOATS, 'T'), DP_OPERAND("B", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 1)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
