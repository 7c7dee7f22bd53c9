// BitCast: reinterprets the bytes as another type of the same size.
#include "ir/ops/elementwise.h"

#define TYPES DP_ANY_TYPE

static dp_status infer(dp_node *node) {
  int64_t to = dp_node_int(node, "to", 0);
  dp_dtype from = node->inputs[0]->type->dtype;
  if (to < 0 || to > DP_MAX_TYPE || !(DP_BIT(to) & TYPES))
    return dp_fail(EX_DATAERR, "attribute 'to' is %lld, which is not a type of whole bytes (TensorProto.DataType)",
                   (long long)to);
  if (dp_type_bytes(from) != dp_type_bytes((dp_dtype)to))
    return dp_fail(EX_DATAERR, "an element of %s has %zu bytes, one of %s has %zu", dp_type_name(from),
                   dp_type_bytes(from), dp_type_name((dp_dtype)to), dp_type_bytes((dp_dtype)to));
  dp_common_set(node, 0, (dp_dtype)to, dp_common_shape(node, 0));
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "to=int32", .n = 3, .low = -9, .high = 9},
    {.inputs = "float32[N,3]", .attrs = "to=uint32", .n = 3, .low = -9, .high = 9},
    {.inputs = "int32[N,3]", .attrs = "to=float32", .n = 3, .low = 1.05e9, .high = 1.07e9},
    {.inputs = "uint32[N,3]", .attrs = "to=float32", .n = 3, .low = 1.05e9, .high = 1.07e9},
    {.inputs = "float64[N,3]", .attrs = "to=int64", .n = 3, .low = -9, .high = 9},
    {.inputs = "float64[N,3]", .attrs = "to=uint64", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[N,3]", .attrs = "to=float64", .n = 3, .low = 4.602e18, .high = 4.611e18},
    {.inputs = "uint64[N,3]", .attrs = "to=float64", .n = 3, .low = 4.602e18, .high = 4.611e18},
    {.inputs = "float16[N,3]", .attrs = "to=int16", .n = 3, .low = -9, .high = 9},
    {.inputs = "int16[N,3]", .attrs = "to=float16", .n = 3, .low = 14000, .high = 16000},
    {.inputs = "uint16[N,3]", .attrs = "to=bfloat16", .n = 3, .low = 16000, .high = 16300},
    {.inputs = "bfloat16[N,3]", .attrs = "to=uint16", .n = 3, .low = -9, .high = 9},
    {.inputs = "int8[N,3]", .attrs = "to=uint8", .n = 3, .low = -99, .high = 99},
    {.inputs = "uint8[N,3]", .attrs = "to=int8", .n = 3, .low = 0, .high = 255},
    {.inputs = "bool[N,3]", .attrs = "to=uint8", .n = 3, .low = 0, .high = 1},
    {.inputs = "uint8[N,3]", .attrs = "to=bool", .n = 3, .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_BitCast = {
    .name = "BitCast",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", TYPES, 0)},
    .outputs = {DP_OPERAND("output", TYPES, 0)},
    .attrs = {{.name = "to", .kind = DP_ATTR_INT, .required = true}},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL,
    .infer = infer,
    .sharding = dp_elementwise_sharding,
    .samples = samples,
};
