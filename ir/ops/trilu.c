// Trilu: the part on and above (upper, else below) the diagonal k of the matrices in the last two dims, zeros
// elsewhere. A part of a matrix knows its position in the whole. Linear.
#include "ir/ops/common.h"

static dp_status infer(dp_node *node) {
  char text[256];
  const dp_shape *x = dp_common_shape(node, 0);
  if (x->rank < 2)
    return dp_fail(EX_DATAERR, "the operand has shape %s where matrices are expected",
                   dp_shape_print(x, text, sizeof text));
  return dp_common_infer_same(node);
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_build(b, "Trilu", 1, dy, 1, node->n_attrs, node->attrs);
}

static void placements(dp_sharding_rules *rules) {
  dp_sharding_split_but(rules, DP_WHOLE);
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4,4]", .n = 3},
    {.inputs = "float32[N,3,6]", .attrs = "upper=0, k=1", .n = 3},
    {.inputs = "float32[5,N]", .attrs = "k=-2", .n = 4},
    {.inputs = "int32[4,4]", .attrs = "upper=0, k=-1", .low = 1, .high = 9},
    {.inputs = "int64[4,4]", .attrs = "upper=0, k=9", .low = 1, .high = 9},
    {.inputs = "uint8[2,3,4]", .low = 1, .high = 255},
    {.inputs = "bool[5,5]", .attrs = "upper=0", .low = 1, .high = 1.5},
    {0},
};

const dp_op dp_op_Trilu = {
    .name = "Trilu",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_AS_ATTR("k", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("upper", 1), DP_INT_ATTR("k", 0)},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
