// BitShift: shifts the bits of X by Y, with broadcasting. Right shifts are arithmetic. A negative or too large shift
// gives 0, or -1 when shifting a negative number to the right.
#include <string.h>

#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  const char *direction = dp_node_string(node, "direction", "");
  if (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT"))
    return dp_fail(EX_DATAERR, "direction is \"%s\" where \"LEFT\" or \"RIGHT\" is expected", direction);
  return dp_elementwise_infer(node);
}

static const dp_sample samples[] = {
    {.inputs = "int32[N,3], int32[3]", .attrs = "direction=\"LEFT\"", .n = 5, .low = -3, .high = 33},
    {.inputs = "int32[N,3], int32[3]", .attrs = "direction=\"RIGHT\"", .n = 5, .low = -33, .high = 5},
    {.inputs = "int64[N,3], int64[3]", .attrs = "direction=\"RIGHT\"", .n = 5, .low = -99, .high = 9},
    {.inputs = "uint8[N,3], uint8[3]", .attrs = "direction=\"LEFT\"", .n = 5, .low = 1, .high = 9},
    {0},
};

const dp_op dp_op_BitShift = {
    .name = "BitShift",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_INTS, 'T'), DP_OPERAND("Y", DP_INTS, 'T')},
    .outputs = {DP_OPERAND("Z", DP_INTS, 'T')},
    .attrs = {{.name = "direction", .kind = DP_ATTR_STRING, .required = true}},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .sharding = dp_elementwise_sharding,
    .cost = dp_elementwise_cost,
    .samples = samples,
};
