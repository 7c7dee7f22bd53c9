// CumProd: products along `axis` of all elements up to each one; exclusive: without itself; reverse: from the end.
// Specialized into doubling steps: y times y shifted by 1, 2, 4 ... positions.
#include "ir/ops/compose.h"
#include "ir/ops/cumulative.h"

static dp_status infer(dp_node *node) {
  DP_TRY(dp_cumulative_infer(node));
  int axis = dp_cumulative_axis(node);
  if (!dp_dim_is_symbolic(dp_common_shape(node, 0)->dims[axis])) return DP_OK;
  return dp_fail(EX_DATAERR, "dim %d depends on the number of samples", axis);
}

// x shifted by `count` positions away from where the products begin, filled with 1.
static dp_value *moved(dp_builder *b, dp_value *x, int axis, int64_t count, bool reverse) {
  dp_shape ones = x->type->shape;
  int64_t extent = ones.dims[axis].offset;
  ones.dims[axis] = dp_dim_of(count);
  dp_value *edge = dp_compose_filled(b, x->type->dtype, &ones, 1);
  dp_value *kept = dp_compose_slice(b, x, axis, reverse ? count : 0, reverse ? extent : extent - count);
  return reverse ? dp_compose_concat(b, kept, edge, axis) : dp_compose_concat(b, edge, kept, axis);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int axis = dp_cumulative_axis(node);
  int64_t extent = dp_common_shape(node, 0)->dims[axis].offset;
  bool reverse = dp_node_int(node, "reverse", 0) != 0, exclusive = dp_node_int(node, "exclusive", 0) != 0;
  dp_value *y = exclusive && extent > 0 ? moved(b, in[0], axis, 1, reverse) : dp_build1(b, "Identity", in[0]);
  for (int64_t count = 1; count < extent && !b->status; count *= 2)
    y = dp_build2(b, "Mul", y, moved(b, y, axis, count, reverse));
  out[0] = y;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .attrs = "axis=1", .n = 4},
    {.inputs = "float32[3,N,2]", .attrs = "axis=-3, exclusive=1", .n = 4},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1", .n = 3},
    {.inputs = "float32[N,4]", .attrs = "axis=1, reverse=1, exclusive=1", .n = 3},
    {.inputs = "int32[N,4]", .attrs = "axis=1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[7]", .attrs = "axis=0", .low = -9, .high = 9},
    {0},
};

#define TYPES (DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64))

const dp_op dp_op_CumProd = {
    .name = "CumProd",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("x", TYPES, 'T'), DP_CUMULATIVE_AXIS},
    .outputs = {DP_OPERAND("y", TYPES, 'T')},
    .attrs = {DP_CUMULATIVE_ATTRS},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
