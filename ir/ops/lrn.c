// LRN: x divided by (bias + alpha times the mean square of `size` neighbouring channels)^beta; channels beyond the ends
// count as 0. x is [N, C, ...]. Specialized into an AveragePool over the channels, products and a power.
#include "ir/ops/compose.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t size = dp_node_int(node, "size", 0);
  char text[256];
  bool fits = x->rank >= 2 && !dp_dim_is_symbolic(x->dims[1]);
  for (int d = 2; fits && d < x->rank; d++) fits = !dp_dim_is_symbolic(x->dims[d]);
  if (!fits)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C, ...] is expected",
                   dp_shape_print(x, text, sizeof text));
  if (size < 1 || size > 1 << 20)
    return dp_fail(EX_DATAERR, "size is %lld where 1 to %d is expected", (long long)size, 1 << 20);
  return dp_common_infer_same(node);
}

// The mean over a window of channels.
static dp_value *mean_of(dp_builder *b, dp_value *squares, int64_t size) {
  dp_arena *arena = b->graph->arena;
  const dp_shape *x = &squares->type->shape;
  dp_dim rest;
  if (!dp_shape_product(x, 2, x->rank, &rest)) rest = dp_dim_of(0);  // refused by the reshape
  dp_shape flat = {4, {x->dims[0], dp_dim_of(1), x->dims[1], rest}};
  int64_t before = (size - 1) / 2, kernel[] = {size, 1}, pads[] = {before, 0, size - 1 - before, 0};
  dp_attr attrs[] = {dp_attr_ints(arena, "kernel_shape", kernel, 2), dp_attr_ints(arena, "pads", pads, 4),
                     dp_attr_int("count_include_pad", 1)};
  dp_value *seen = dp_build_reshape(b, squares, &flat);
  return dp_build_reshape(b, dp_build(b, "AveragePool", 1, &seen, 1, 3, attrs), x);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_value *mean = mean_of(b, dp_build2(b, "Mul", in[0], in[0]), dp_node_int(node, "size", 1));
  dp_value *sum = dp_elementwise_with(b, "Mul", mean, dp_node_float(node, "alpha", 0.0001));
  sum = dp_elementwise_with(b, "Add", sum, dp_node_float(node, "bias", 1));
  out[0] = dp_build2(b, "Div", in[0], dp_elementwise_with(b, "Pow", sum, dp_node_float(node, "beta", 0.75)));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5,2,3]", .attrs = "size=3", .n = 3},
    {.inputs = "float32[N,4,3]", .attrs = "size=4, alpha=0.5, beta=1.25, bias=2.0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "size=5, alpha=1.5", .n = 3},
    {0},
};

const dp_op dp_op_LRN = {
    .name = "LRN",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_FLOAT_ATTR("alpha", 0.0001),
              DP_FLOAT_ATTR("beta", 0.75),
              DP_FLOAT_ATTR("bias", 1),
              {.name = "size", .kind = DP_ATTR_INT, .required = true}},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
