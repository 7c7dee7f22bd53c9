// AffineGrid(theta [N, r, r + 1]) {size [N, C, d...]} -> [N, d..., r]: the source of each element of a tensor of that
// size, in coordinates of -1 to 1. Specialized into a product with a table of all positions.
#include "ir/ops/compose.h"

static dp_status read_attributes(const dp_node *node, dp_shape *size) {
  const dp_shape *theta = dp_common_shape(node, 0);
  char a[256], b[256];
  if (!dp_node_attr(node, "size")) return dp_fail(EX_DATAERR, "size is missing");
  DP_TRY(dp_common_shape_attr(node, "size", size));
  int r = size->rank - 2;
  bool fits = (r == 2 || r == 3) && theta->rank == 3 && dp_dim_equal(theta->dims[0], size->dims[0]) &&
              dp_dim_is(theta->dims[1], r) && dp_dim_is(theta->dims[2], r + 1);
  for (int i = 0; fits && i < r; i++) fits = !dp_dim_is_symbolic(size->dims[2 + i]);
  if (!fits)
    return dp_fail(EX_DATAERR,
                   "theta has shape %s and size is %s; [N, r, r + 1] and [N, C, d...] of 2 or 3 dims are expected",
                   dp_shape_print(theta, a, sizeof a), dp_shape_print(size, b, sizeof b));
  return DP_OK;
}

static dp_shape result(const dp_shape *size) {
  dp_shape y = {.rank = size->rank, .dims = {size->dims[0]}};
  for (int d = 2; d < size->rank; d++) y.dims[d - 1] = size->dims[d];
  y.dims[y.rank - 1] = dp_dim_of(size->rank - 2);
  return y;
}

static dp_status infer(dp_node *node) {
  dp_shape size;
  DP_TRY(read_attributes(node, &size));
  dp_shape y = result(&size);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// [positions, r + 1]: the coordinates of every position, last dim first, and 1.
static dp_value *make_coordinates(dp_builder *b, dp_dtype dtype, const dp_shape *size, bool align) {
  int r = size->rank - 2;
  dp_dim total;
  if (!dp_shape_product(size, 2, size->rank, &total)) total = dp_dim_of(-1);  // refused as a table
  dp_shape shape = {2, {total, dp_dim_of(r + 1)}};
  int64_t count;
  double *numbers = dp_compose_room(b, &shape, &count);
  for (int64_t position = 0; numbers && position < total.offset; position++) {
    int64_t rest = position;
    for (int i = 0; i < r; i++) {
      int64_t extent = size->dims[size->rank - 1 - i].offset, at = rest % extent;
      double steps = (double)(align ? extent - 1 : extent);
      numbers[position * (r + 1) + i] = steps > 0 ? (2 * (double)at + !align) / steps - 1 : 0;
      rest /= extent;
    }
    numbers[position * (r + 1) + r] = 1;
  }
  return dp_compose_constant(b, dtype, &shape, numbers);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_shape size;
  dp_status status = read_attributes(node, &size);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_shape y = result(&size);
  dp_value *table = make_coordinates(b, in[0]->type->dtype, &size, dp_node_int(node, "align_corners", 0) != 0);
  out[0] = dp_build_reshape(b, dp_build2(b, "MatMul", table, dp_compose_swap(b, in[0], 1, 2)), &y);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3]", .attrs = "size=[N,3,4,5]", .n = 2},
    {.inputs = "float32[N,3,4]", .attrs = "size=[N,1,2,3,2], align_corners=1", .n = 2},
    {0},
};

const dp_op dp_op_AffineGrid = {
    .name = "AffineGrid",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("theta", DP_FLOATS, 'T'), DP_AS_ATTR("size", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("grid", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("align_corners", 0), {.name = "size", .kind = DP_ATTR_DIMS}},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
