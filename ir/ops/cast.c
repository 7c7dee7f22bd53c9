// Cast among all types. A float becomes an integer by truncation towards zero, anything but zero becomes true.
// Linear between floats, up to rounding.
#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  int64_t to = dp_node_int(node, "to", 0);
  if (to < 0 || to > DP_MAX_TYPE || !(DP_BIT(to) & DP_ANY_TYPE))
    return dp_fail(EX_DATAERR,
                   "attribute 'to' is %lld, which is none of float32 (1), uint8 (2), int32 (6), int64 (7), bool (9), "
                   "float64 (11)",
                   (long long)to);
  dp_common_set(node, 0, (dp_dtype)to, dp_common_shape(node, 0));
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_dtype from = node->inputs[0]->type.dtype;
  if (dp_type_is_float(from) && dp_type_is_float(node->outputs[0]->type.dtype)) dx[0] = dp_build_cast(b, dy[0], from);
}

static void placements(dp_rows *rows) {
  dp_elementwise_rows(rows);
  const dp_node *node = rows->node;
  if (dp_type_is_float(node->inputs[0]->type.dtype) && dp_type_is_float(node->outputs[0]->type.dtype))
    dp_rows_linear(rows, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "to=1", .n = 5},
    {.inputs = "float32[N,3]", .attrs = "to=11", .n = 5},
    {.inputs = "float32[N,3]", .attrs = "to=6", .n = 5, .low = -100, .high = 100},
    {.inputs = "float32[N,3]", .attrs = "to=7", .n = 5, .low = -100, .high = 100},
    {.inputs = "float32[N,3]", .attrs = "to=2", .n = 5, .low = 0, .high = 255},
    {.inputs = "float32[N,3]", .attrs = "to=9", .n = 5},
    {.inputs = "uint8[N,3]", .attrs = "to=1", .n = 5, .low = 0, .high = 255},
    {.inputs = "uint8[N,3]", .attrs = "to=11", .n = 5, .low = 0, .high = 255},
    {.inputs = "int64[N]", .attrs = "to=1", .n = 5, .low = -300, .high = 300},
    {.inputs = "int64[N]", .attrs = "to=6", .n = 5, .low = -300, .high = 300},
    {.inputs = "int32[N]", .attrs = "to=7", .n = 5, .low = -300, .high = 300},
    {.inputs = "int32[N]", .attrs = "to=9", .n = 5, .low = -1, .high = 1},
    {.inputs = "bool[N,2]", .attrs = "to=7", .n = 5, .low = 0, .high = 1},
    {.inputs = "bool[N,2]", .attrs = "to=1", .n = 5, .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Cast = {
    .name = "Cast",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 0)},
    .attrs = {{.name = "to", .kind = DP_ATTR_INT, .required = true}},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .placements = placements,
    .samples = samples,
};
