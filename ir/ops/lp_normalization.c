// LpNormalization: x divided by its norm along `axis`: the sum of absolute values (p=1) or the root of the sum of
// squares (p=2). Where the norm is 0 the result is 0, as in ONNX. Specialized into elementary operators.
#include "ir/ops/piecewise.h"

static dp_status infer(dp_node *node) {
  int64_t p = dp_node_int(node, "p", 2);
  int axis;
  if (p != 1 && p != 2) return dp_fail(EX_DATAERR, "p is %lld where 1 or 2 is expected", (long long)p);
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), dp_common_shape(node, 0)->rank, &axis));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int64_t axis = dp_node_int(node, "axis", -1);
  if (axis < 0) axis += dp_common_shape(node, 0)->rank;
  const char *reduction = dp_node_int(node, "p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  dp_value *norm = dp_build_reduce(b, reduction, in[0], &axis, 1, true);
  dp_value *one = dp_build_fill(b, norm->type->dtype, 1);
  out[0] = dp_build2(b, "Div", in[0], dp_piecewise_where(b, "Equal", norm, 0, one, norm));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5},
    {.inputs = "float32[N,3,2]", .attrs = "axis=1, p=1", .n = 4},
    {0},
};

const dp_op dp_op_LpNormalization = {
    .name = "LpNormalization",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1), DP_INT_ATTR("p", 2)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
