// Cast among all types. A float becomes an integer by truncation towards zero; anything but zero becomes true.
// `saturate` says what happens to values beyond the range of an 8-bit float, `round_mode` how a value becomes a
// float8e8m0, a power of two. Linear between floats, up to rounding.
#include <string.h>

#include "ir/ops/elementwise.h"

static dp_status infer(dp_node *node) {
  int64_t to = dp_node_int(node, "to", 0);
  if (to < 0 || to > DP_MAX_TYPE || !(DP_BIT(to) & DP_STORED))
    return dp_fail(EX_DATAERR,
                   "attribute 'to' is %lld, which is not a type of numbers or truth values (TensorProto.DataType)",
                   (long long)to);
  const char *mode = dp_node_string(node, "round_mode", "up");
  if (strcmp(mode, "up") && strcmp(mode, "down") && strcmp(mode, "nearest"))
    return dp_fail(EX_DATAERR, "round_mode is \"%s\" where \"up\", \"down\" or \"nearest\" is expected", mode);
  dp_common_set(node, 0, (dp_dtype)to, dp_common_shape(node, 0));
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_dtype from = node->inputs[0]->type->dtype;
  if (dp_type_is_float(from) && dp_type_is_float(node->outputs[0]->type->dtype)) dx[0] = dp_build_cast(b, dy[0], from);
}

static void placements(dp_sharding_rules *rules) {
  dp_elementwise_sharding(rules);
  const dp_node *node = rules->node;
  if (dp_type_is_float(node->inputs[0]->type->dtype) && dp_type_is_float(node->outputs[0]->type->dtype))
    dp_sharding_linear(rules, 1);
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
    {.inputs = "float32[N,3]", .attrs = "to=float16", .n = 5, .low = -60000, .high = 60000},
    {.inputs = "float32[N,3]", .attrs = "to=bfloat16", .n = 5, .low = -100, .high = 100},
    {.inputs = "float32[N,3]", .attrs = "to=int8", .n = 5, .low = -100, .high = 100},
    {.inputs = "float32[N,3]", .attrs = "to=int16", .n = 5, .low = -100, .high = 100},
    {.inputs = "float32[N,3]", .attrs = "to=uint16", .n = 5, .low = 0, .high = 60000},
    {.inputs = "float32[N,3]", .attrs = "to=uint32", .n = 5, .low = 0, .high = 60000},
    {.inputs = "float32[N,3]", .attrs = "to=uint64", .n = 5, .low = 0, .high = 60000},
    {.inputs = "float32[N,3]", .attrs = "to=float8e4m3fn", .n = 5, .low = -600, .high = 600},
    {.inputs = "float32[N,3]", .attrs = "to=float8e4m3fn, saturate=0", .n = 5, .low = -400, .high = 400},
    {.inputs = "float32[N,3]", .attrs = "to=float8e4m3fnuz", .n = 5, .low = -300, .high = 300},
    {.inputs = "float32[N,3]", .attrs = "to=float8e5m2", .n = 5, .low = -70000, .high = 70000},
    {.inputs = "float32[N,3]", .attrs = "to=float8e5m2fnuz", .n = 5, .low = -70000, .high = 70000},
    {.inputs = "float32[N,3]", .attrs = "to=uint4", .n = 5, .low = 0, .high = 15},
    {.inputs = "float32[N,3]", .attrs = "to=int4", .n = 5, .low = -8, .high = 7},
    {.inputs = "float32[N,3]", .attrs = "to=float4e2m1", .n = 5, .low = -8, .high = 8},
    {.inputs = "float32[N,3]", .attrs = "to=uint2", .n = 5, .low = 0, .high = 3},
    {.inputs = "float32[N,3]", .attrs = "to=int2", .n = 5, .low = -2, .high = 1},
    {.inputs = "float32[N,3]", .attrs = "to=float8e8m0, round_mode=\"nearest\"", .n = 5, .low = 0.1, .high = 9},
    {.inputs = "float32[N,3]", .attrs = "to=float8e8m0, round_mode=\"down\"", .n = 5, .low = 0.1, .high = 9},
    {.inputs = "float32[N,3]", .attrs = "to=float8e8m0", .n = 5, .low = 0.1, .high = 9},
    {.inputs = "int64[N]", .attrs = "to=bfloat16", .n = 5, .low = -300000, .high = 300000},
    {.inputs = "uint8[N]", .attrs = "to=float8e4m3fn", .n = 5, .low = 0, .high = 255},
    {.inputs = "bool[N]", .attrs = "to=float16", .n = 5, .low = 0, .high = 1},
    {.inputs = "bfloat16[N]", .attrs = "to=float16", .n = 5},
    {.inputs = "float16[N]", .attrs = "to=int8", .n = 5, .low = -99, .high = 99},
    {0},
};

const dp_op dp_op_Cast = {
    .name = "Cast",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_STORED, 0)},
    .outputs = {DP_OPERAND("output", DP_STORED, 0)},
    .attrs = {{.name = "to", .kind = DP_ATTR_INT, .required = true},
              DP_INT_ATTR("saturate", 1),
              DP_STRING_ATTR("round_mode", "up")},
    .flags = DP_OP_ELEMENTWISE,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
