// Quantized tensors. See quantize.h.
#include "ir/ops/quantize.h"

#include "ir/ops/compose.h"

static bool is_single(const dp_shape *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (!dp_dim_is(shape->dims[d], 1)) return false;
  return true;
}

dp_status dp_quantize_check(const char *what, const dp_shape *scale, const dp_shape *x, int64_t axis,
                            int64_t block_size) {
  char a[256], b[256];
  int at;
  if (block_size < 0)
    return dp_fail(EX_DATAERR, "block_size is %lld where 0 or more is expected", (long long)block_size);
  if (!block_size && is_single(scale)) return DP_OK;
  DP_TRY(dp_common_axis("axis", axis, x->rank, &at));
  dp_shape expected = {.rank = 1, .dims = {x->dims[at]}};
  if (block_size) {
    if (dp_dim_is_symbolic(x->dims[at]))
      return dp_fail(EX_DATAERR, "dim %d depends on the batch: it cannot be divided into blocks", at);
    expected = *x;
    expected.dims[at] = dp_dim_of((x->dims[at].offset - 1) / block_size + 1);
  }
  if (dp_shape_equal(scale, &expected)) return DP_OK;
  return dp_fail(EX_DATAERR, "%s has shape %s where %s is expected", what, dp_shape_print(scale, a, sizeof a),
                 dp_shape_print(&expected, b, sizeof b));
}

dp_value *dp_quantize_along(dp_builder *builder, dp_value *v, int dim, int rank) {
  const dp_shape *shape = &v->type->shape;
  dp_shape wide = {.rank = is_single(shape) ? 0 : rank};
  for (int d = 0; d < wide.rank; d++) wide.dims[d] = d == dim ? shape->dims[shape->rank - 1] : dp_dim_of(1);
  return dp_build_reshape(builder, v, &wide);
}

// Repeats every element along `axis` for the length of its block, up to `extent`.
static dp_value *repeat(dp_builder *builder, dp_value *v, int axis, int64_t extent, int64_t block) {
  dp_shape shape = {1, {dp_dim_of(extent)}};
  double *indices = dp_compose_room(builder, &shape, &extent);
  for (int64_t i = 0; indices && i < extent; i++) indices[i] = (double)(i / block);
  return dp_compose_gather(builder, v, dp_compose_constant(builder, DP_INT64, &shape, indices), axis);
}

dp_value *dp_quantize_spread(dp_builder *builder, dp_value *scale, const dp_shape *x, int64_t axis,
                             int64_t block_size) {
  int at = (int)(axis < 0 ? axis + x->rank : axis);
  if (block_size) return repeat(builder, scale, at, x->dims[at].offset, block_size);
  return dp_quantize_along(builder, scale, at, x->rank);
}

dp_value *dp_quantize_centred(dp_builder *builder, dp_value *x, dp_value *zero, dp_dtype to) {
  x = dp_build_cast(builder, x, to);
  return zero ? dp_build2(builder, "Sub", x, dp_build_cast(builder, zero, to)) : x;
}

dp_value *dp_quantize_round(dp_builder *builder, dp_value *v, dp_value *zero, dp_dtype to) {
  static const struct {
    double low, high;
  } ranges[DP_MAX_TYPE + 1] = {
      [DP_INT8] = {INT8_MIN, INT8_MAX},
      [DP_UINT8] = {0, UINT8_MAX},
      [DP_INT16] = {INT16_MIN, INT16_MAX},
      [DP_UINT16] = {0, UINT16_MAX},
      [DP_INT4] = {-8, 7},
      [DP_UINT4] = {0, 15},
      [DP_INT2] = {-2, 1},
      [DP_UINT2] = {0, 3},
  };
  // float16 cannot represent all 16-bit integers.
  dp_dtype wide = v->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  v = dp_build_cast(builder, dp_build1(builder, "Round", v), wide);
  if (zero) v = dp_build2(builder, "Add", v, dp_build_cast(builder, zero, wide));
  dp_attr range[] = {dp_attr_float("min", ranges[to].low), dp_attr_float("max", ranges[to].high)};
  return dp_build_cast(builder, dp_build(builder, "Clip", 1, &v, 1, 2, range), to);
}

// ---- products -------------------------------------------------------------------------------------------------------

dp_status dp_quantize_infer_product(dp_node *node, int a, int b, dp_dtype dtype) {
  dp_value *factors[] = {node->inputs[a], node->inputs[b]};
  dp_node product = *node;
  product.inputs = factors;
  product.n_inputs = 2;
  product.op = dp_op_find("", "MatMul");
  DP_TRY(product.op->infer(&product));
  dp_shape shape = node->outputs[0]->type->shape;
  dp_common_set(node, 0, dtype, &shape);
  return DP_OK;
}

dp_status dp_quantize_check_side(const dp_node *node, int operand, const dp_shape *x, int dim) {
  const dp_value *v = dp_common_operand(node, operand);
  char a[256], b[256];
  if (!v || is_single(&v->type->shape)) return DP_OK;
  const dp_shape *s = &v->type->shape;
  bool fits = s->rank == 1 ? dim >= 0 && dp_dim_equal(s->dims[0], x->dims[dim]) : s->rank == x->rank;
  for (int d = 0; d < s->rank && s->rank > 1 && fits; d++)
    fits = dp_dim_is(s->dims[d], 1) || dp_dim_equal(s->dims[d], x->dims[d]);
  if (fits) return DP_OK;
  return dp_fail(EX_DATAERR, "%s has shape %s, which does not have one value for each position along dim %d of %s",
                 node->op->inputs[operand].name, dp_shape_print(s, a, sizeof a), dim, dp_shape_print(x, b, sizeof b));
}

dp_value *dp_quantize_side(dp_builder *builder, dp_value *v, int dim, int rank) {
  return v && v->type->shape.rank <= 1 ? dp_quantize_along(builder, v, dim, rank) : v;
}

dp_value *dp_quantize_rescale(dp_builder *builder, dp_value *sums, dp_value *a_scale, dp_value *b_scale,
                              dp_value *y_scale, dp_value *y_zero, dp_dtype to) {
  dp_value *scale = dp_build2(builder, "Mul", dp_build_cast(builder, a_scale, DP_FLOAT32),
                              dp_build_cast(builder, b_scale, DP_FLOAT32));
  scale = dp_build2(builder, "Div", scale, dp_build_cast(builder, y_scale, DP_FLOAT32));
  dp_value *y = dp_build2(builder, "Mul", dp_build_cast(builder, sums, DP_FLOAT32), scale);
  return dp_quantize_round(builder, y, y_zero, to);
}
