// EyeLike: 1 on diagonal k of a matrix of the operand's shape, 0 elsewhere, of type dtype (by default the operand's).
// Specialized into dp.Fill, with Trilu applied from both sides.
#include "ir/ops/compose.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  char text[256];
  int64_t dtype = dp_node_int(node, "dtype", node->inputs[0]->type->dtype);
  if (x->rank != 2)
    return dp_fail(EX_DATAERR, "the operand has shape %s where a matrix is expected",
                   dp_shape_print(x, text, sizeof text));
  if (dtype < 1 || dtype > DP_MAX_TYPE || !(DP_BIT(dtype) & DP_ANY_TYPE))
    return dp_fail(EX_DATAERR, "dtype is %lld, which is not supported", (long long)dtype);
  dp_common_set(node, 0, (dp_dtype)dtype, x);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  (void)in;
  dp_value *ones = dp_compose_filled(b, DP_FLOAT32, dp_common_shape(node, 0), 1);
  dp_attr attrs[] = {dp_attr_int("k", dp_node_int(node, "k", 0)), dp_attr_int("upper", 1)};
  dp_value *above = dp_build(b, "Trilu", 1, &ones, 1, 2, attrs);
  attrs[1] = dp_attr_int("upper", 0);
  dp_value *line = dp_build(b, "Trilu", 1, &above, 1, 2, attrs);
  out[0] = dp_build_cast(b, line, node->outputs[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "dtype=7", .n = 4},
    {.inputs = "float32[3,N]", .attrs = "k=1", .n = 5},
    {.inputs = "int32[4,3]", .attrs = "k=-2", .low = -9, .high = 9},
    {.inputs = "int64[2,3]", .attrs = "dtype=11", .low = -9, .high = 9},
    {.inputs = "uint8[2,3]", .low = 0, .high = 255},
    {.inputs = "bool[2,2]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_EyeLike = {
    .name = "EyeLike",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 0)},
    .attrs = {{.name = "dtype", .kind = DP_ATTR_INT}, DP_INT_ATTR("k", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
