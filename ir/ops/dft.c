// DFT {dft_length, axis, inverse, onesided}: the discrete Fourier transform along `axis` of numbers that are real (last
// dim 1) or complex (2). The operand is truncated or zero-padded to dft_length. onesided gives the first half of the
// frequencies; with inverse it takes that half and gives real numbers. Specialized into a product with the table of
// cosines and sines.
#include <math.h>

#include "ir/ops/compose.h"

typedef struct {
  int axis, in_parts, out_parts;  // 1: real, 2: complex
  int64_t in, length, out;
  bool inverse, onesided;
} transform;

static dp_status read_attributes(const dp_node *node, transform *t) {
  const dp_shape *x = dp_common_shape(node, 0);
  char text[256];
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -2), x->rank, &t->axis));
  dp_dim extent = x->dims[t->axis], parts = x->dims[x->rank - 1];
  t->inverse = dp_node_int(node, "inverse", 0) != 0;
  t->onesided = dp_node_int(node, "onesided", 0) != 0;
  if (t->axis == x->rank - 1 || dp_dim_is_symbolic(extent) || extent.offset < 1 || extent.offset > INT32_MAX ||
      (!dp_dim_is(parts, 1) && !dp_dim_is(parts, 2)))
    return dp_fail(EX_DATAERR,
                   "the operand has shape %s; a last dim of 1 or 2 and, at axis %d, a plain number are expected",
                   dp_shape_print(x, text, sizeof text), t->axis);
  t->in = extent.offset;
  t->in_parts = (int)parts.offset;
  t->length = dp_node_int(node, "dft_length", t->inverse && t->onesided ? 2 * (t->in - 1) : t->in);
  if (t->length < 1 || t->length > INT32_MAX)
    return dp_fail(EX_DATAERR, "dft_length is %lld where 1 or more is expected", (long long)t->length);
  t->out = t->onesided && !t->inverse ? t->length / 2 + 1 : t->length;
  t->out_parts = t->onesided && t->inverse ? 1 : 2;
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  transform t;
  DP_TRY(read_attributes(node, &t));
  dp_shape y = *dp_common_shape(node, 0);
  y.dims[t.axis] = dp_dim_of(t.out);
  y.dims[y.rank - 1] = dp_dim_of(t.out_parts);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

// [in, parts, out, parts]: the contribution of each part of each number to each part of each result.
static dp_value *make_table(dp_builder *b, dp_dtype dtype, const transform *t) {
  dp_shape shape = {2, {dp_dim_of(t->in * t->in_parts), dp_dim_of(t->out * t->out_parts)}};
  int64_t count, half = t->length / 2, last = dp_min_i64(t->in, t->onesided && t->inverse ? half + 1 : t->length);
  double *numbers = dp_compose_room(b, &shape, &count), scale = t->inverse ? 1 / (double)t->length : 1;
  for (int64_t i = 0; numbers && i < last; i++)
    for (int64_t k = 0; k < t->out; k++) {
      double angle = 2 * M_PI * (double)(i * k % t->length) / (double)t->length, turn = t->inverse ? 1 : -1;
      double weight =
          t->out_parts == 1 && i > 0 && 2 * i != t->length ? 2 * scale : scale;  // stands for its mirror image too
      double *at = numbers + i * t->in_parts * t->out * t->out_parts + k * t->out_parts;
      double re = weight * cos(angle), im = weight * turn * sin(angle);
      at[0] = re;
      if (t->out_parts == 2) at[1] = im;
      if (t->in_parts == 1) continue;
      at += t->out * t->out_parts;
      at[0] = -im;
      if (t->out_parts == 2) at[1] = re;
    }
  return dp_compose_constant(b, dtype, &shape, numbers);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  transform t;
  dp_status status = read_attributes(node, &t);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  int rank = in[0]->type->shape.rank;
  dp_value *x = dp_compose_swap(b, in[0], t.axis, rank - 2);
  dp_shape y = x->type->shape;
  y.dims[rank - 2] = dp_dim_of(t.out);
  y.dims[rank - 1] = dp_dim_of(t.out_parts);
  x = dp_compose_merge(b, x, rank - 2, rank);
  if (rank == 2) x = dp_compose_unsqueeze(b, x, 0);
  dp_value *product = dp_build2(b, "MatMul", x, make_table(b, x->type->dtype, &t));
  out[0] = dp_compose_swap(b, dp_build_reshape(b, product, &y), t.axis, rank - 2);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5,1]", .n = 3},
    {.inputs = "float32[N,4,3,2]", .attrs = "axis=1, dft_length=6, inverse=1", .n = 2},
    {.inputs = "float32[N,6,1]", .attrs = "axis=1, onesided=1, dft_length=4", .n = 3},
    {.inputs = "float32[N,4,2]", .attrs = "inverse=1, onesided=1", .n = 3},
    {.inputs = "float32[N,3,2]", .attrs = "inverse=1, onesided=1, dft_length=5", .n = 3},
    {.inputs = "float32[4,2]", .attrs = "axis=0"},
    {0},
};

const dp_op dp_op_DFT = {
    .name = "DFT",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T'), DP_AS_ATTR("dft_length", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), true),
               DP_AS_ATTR("axis", DP_BIT(DP_INT64), true)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -2),
              {.name = "dft_length", .kind = DP_ATTR_INT},
              DP_INT_ATTR("inverse", 0),
              DP_INT_ATTR("onesided", 0)},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
