// Gelu: x times the normal distribution function of x; approximate="tanh": x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x
// + 0.044715 x^3).
#include <string.h>

#include "ir/ops/piecewise.h"

static const double K = 0.79788456080286536, C = 0.044715;  // K: sqrt(2 / pi)

static bool by_tanh(const dp_node *node) { return !strcmp(dp_node_string(node, "approximate", "none"), "tanh"); }

static dp_status infer(dp_node *node) {
  const char *approximate = dp_node_string(node, "approximate", "none");
  if (strcmp(approximate, "none") && strcmp(approximate, "tanh"))
    return dp_fail(EX_DATAERR, "approximate is '%s' where none or tanh is expected", approximate);
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *square = dp_build2(b, "Mul", x, x), *slope;
  if (by_tanh(node)) {
    // u = k (x + c x^3), y = x (1 + tanh u) / 2: y' = (1 + t) / 2 + x (1 - t t) / 2 k (1 + 3 c x x)
    dp_value *u =
        dp_build2(b, "Mul", x, dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Mul", square, K * C), K));
    dp_value *t = dp_build1(b, "Tanh", u), *rise = dp_piecewise_of(b, "Sub", 1, dp_build2(b, "Mul", t, t));
    dp_value *inner = dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Mul", square, 1.5 * K * C), 0.5 * K);
    dp_value *half = dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Mul", t, 0.5), 0.5);
    slope = dp_build2(b, "Add", half, dp_build2(b, "Mul", dp_build2(b, "Mul", x, rise), inner));
  } else {
    // y' = F(x) + x f(x), the normal distribution and its density
    dp_value *bell = dp_build1(b, "Exp", dp_elementwise_with(b, "Mul", square, -0.5));
    dp_value *erf = dp_build1(b, "Erf", dp_elementwise_with(b, "Mul", x, 0.70710678118654752));
    dp_value *up_to = dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Mul", erf, 0.5), 0.5);
    dp_value *density = dp_elementwise_with(b, "Mul", bell, 0.39894228040143268);
    slope = dp_build2(b, "Add", up_to, dp_build2(b, "Mul", x, density));
  }
  dx[0] = dp_build2(b, "Mul", dy[0], slope);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -3, .high = 3},
    {.inputs = "float32[2,N,4]", .attrs = "approximate=\"tanh\"", .n = 3, .low = -3, .high = 3},
    {0},
};

const dp_op dp_op_Gelu = {
    .name = "Gelu",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("approximate", "none")},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
