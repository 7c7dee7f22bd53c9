// HardSwish: x times x / 6 + 1/2 limited to [0, 1]. dx = dy times 0 up to -3, x / 3 + 1/2 in between, 1 from 3 on.
#include "ir/ops/piecewise.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0], *zero = dp_build_fill(b, x->type->dtype, 0),
           *one = dp_build_fill(b, x->type->dtype, 1);
  dp_value *line = dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Div", x, 3), 0.5);
  dp_value *slope = dp_piecewise_where(b, "Greater", x, -3, line, zero);
  dx[0] = dp_build2(b, "Mul", dy[0], dp_piecewise_where(b, "Less", x, 3, slope, one));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = -5, .high = 5},
    {.inputs = "float32[2,N,4]", .n = 3, .low = -5, .high = 5},
    {0},
};

const dp_op dp_op_HardSwish = {
    .name = "HardSwish",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .flags = DP_OP_ELEMENTWISE,
    .infer = dp_common_infer_same,
    .gradient = gradient,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
