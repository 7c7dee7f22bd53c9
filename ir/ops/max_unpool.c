// MaxUnpool(X, I) {kernel_shape, strides, pads, output_shape}: X at the positions I, counted over the whole tensor that
// was pooled, 0 elsewhere. A larger output_shape has more 0 at the ends. Specialized into ScatterElements.
#include "ir/ops/compose.h"
#include "ir/ops/geometry.h"

static dp_status list_of(const dp_node *node, const char *name, int rank, int64_t otherwise, int64_t *list) {
  size_t count;
  const int64_t *given = dp_node_ints(node, name, &count);
  for (int i = 0; i < rank; i++) {
    list[i] = given && (size_t)i < count ? given[i] : otherwise;
    if ((given && count != (size_t)rank) || list[i] < 0 || list[i] > 1 << 24)
      return dp_fail(EX_DATAERR, "%s has %zu numbers where %d of 0 to %d are expected", name, count, rank, 1 << 24);
  }
  return DP_OK;
}

// The shape that was pooled, and that of the result.
static dp_status read_attributes(const dp_node *node, dp_shape *pooled, dp_shape *y) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t kernel[DP_MAX_SPATIAL], stride[DP_MAX_SPATIAL], pads[2 * DP_MAX_SPATIAL];
  int rank = x->rank - 2;
  char text[256];
  bool fits = rank >= 1 && rank <= DP_MAX_SPATIAL && !dp_dim_is_symbolic(x->dims[1]);
  for (int i = 0; fits && i < rank; i++)
    fits = !dp_dim_is_symbolic(x->dims[2 + i]) && x->dims[2 + i].offset <= INT32_MAX;
  if (!fits)
    return dp_fail(EX_DATAERR, "X has shape %s; [N, C, d...] is expected", dp_shape_print(x, text, sizeof text));
  DP_TRY(dp_common_expect("I", dp_common_shape(node, 1), x));
  DP_TRY(list_of(node, "kernel_shape", rank, 1, kernel));
  DP_TRY(list_of(node, "strides", rank, 1, stride));
  DP_TRY(list_of(node, "pads", 2 * rank, 0, pads));
  *pooled = *x;
  for (int i = 0; i < rank; i++) {
    pooled->dims[2 + i].offset = (x->dims[2 + i].offset - 1) * stride[i] - pads[i] - pads[rank + i] + kernel[i];
    if (pooled->dims[2 + i].offset < 1) return dp_fail(EX_DATAERR, "spatial dim %d of the result would be empty", i);
  }
  *y = *pooled;
  if (!dp_node_attr(node, "output_shape")) return DP_OK;
  DP_TRY(dp_common_shape_attr(node, "output_shape", y));
  fits = y->rank == pooled->rank;
  for (int d = 0; fits && d < y->rank; d++)
    fits = dp_dim_equal(y->dims[d], pooled->dims[d]) ||
           (d > 1 && !dp_dim_is_symbolic(y->dims[d]) && y->dims[d].offset >= pooled->dims[d].offset);
  return fits ? DP_OK : dp_common_expect("output_shape, which", y, pooled);
}

static dp_status infer(dp_node *node) {
  dp_shape pooled, y;
  DP_TRY(read_attributes(node, &pooled, &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_shape pooled, y;
  dp_status status = read_attributes(node, &pooled, &y);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  int rank = pooled.rank;
  dp_dim total;
  if (!dp_shape_product(&pooled, 0, rank, &total)) total = dp_dim_of(0);  // refused by the reshape
  dp_shape flat = {1, {total}};
  dp_attr axis = dp_attr_int("axis", 0);
  dp_value *operands[] = {dp_compose_filled(b, in[0]->type->dtype, &flat, 0), dp_compose_merge(b, in[1], 0, rank),
                          dp_compose_merge(b, in[0], 0, rank)};
  dp_value *made = dp_build_reshape(b, dp_build(b, "ScatterElements", 3, operands, 1, 1, &axis), &pooled);
  for (int d = 2; d < rank; d++) {
    dp_shape more = made->type->shape;
    if (dp_dim_equal(y.dims[d], pooled.dims[d])) continue;
    more.dims[d] = dp_dim_of(y.dims[d].offset - pooled.dims[d].offset);
    made = dp_compose_concat(b, made, dp_compose_filled(b, made->type->dtype, &more, 0), d);
  }
  out[0] = made;
}

// Samples with ranges that draw distinct positions.
static const dp_sample samples[] = {
    {.inputs = "float32[1,1,3,1], int64[1,1,3,1]", .attrs = "kernel_shape=[2,2], strides=[2,2]", .low = 0, .high = 4},
    {.inputs = "float32[N,2,2], int64[N,2,2]",
     .attrs = "kernel_shape=[3], strides=[3], pads=[1,0], output_shape=[N,2,7]",
     .n = 1,
     .low = 0,
     .high = 6},
    {0},
};

const dp_op dp_op_MaxUnpool = {
    .name = "MaxUnpool",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("I", DP_BIT(DP_INT64), 0),
               DP_AS_ATTR("output_shape", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {{.name = "kernel_shape", .kind = DP_ATTR_INTS, .required = true},
              {.name = "output_shape", .kind = DP_ATTR_DIMS},
              DP_INTS_ATTR("pads"),
              DP_INTS_ATTR("strides")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
