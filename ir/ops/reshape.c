// Reshape: 0 keeps the operand's extent (unless allowzero), -1 takes the rest. The elements keep their order.
#include "ir/ops/reshape.h"

// The quotient of two extents, a number or a multiple of N.
static bool divide_dims(dp_dim a, dp_dim b, dp_dim *quotient) {
  if (b.scale) {
    if (a.scale % b.scale || b.scale * (a.scale / b.scale) != a.scale || b.offset * (a.scale / b.scale) != a.offset)
      return false;
    *quotient = dp_dim_of(a.scale / b.scale);
    return true;
  }
  if (!b.offset || a.scale % b.offset || a.offset % b.offset) return false;
  *quotient = (dp_dim){a.scale / b.offset, a.offset / b.offset};
  return true;
}

// Resolves 0; *open: the index of -1, or -1.
static dp_status resolve(const dp_node *node, dp_shape *y, int *open) {
  const dp_shape *x = dp_common_shape(node, 0);
  bool keep_zero = dp_node_int(node, "allowzero", 0) != 0;
  *open = -1;
  for (int d = 0; d < y->rank; d++) {
    if (dp_dim_is(y->dims[d], -1)) {
      if (*open >= 0) return dp_fail(EX_DATAERR, "shape has two extents of -1; only one can be inferred");
      *open = d;
    } else if (dp_dim_is(y->dims[d], 0) && !keep_zero) {
      if (d >= x->rank)
        return dp_fail(EX_DATAERR, "shape has 0 at index %d, but the operand has no dim %d whose extent could be kept",
                       d, d);
      y->dims[d] = x->dims[d];
    } else if (y->dims[d].offset < 0 || y->dims[d].scale < 0) {
      return dp_fail(EX_DATAERR, "shape has a negative extent at index %d; only -1 is allowed", d);
    }
  }
  return DP_OK;
}

// Replaces by 1 the symbolic extents that both shapes have, so that N remains at most once, where [N,N] meets [1,N,N].
static void cancel(dp_shape *a, dp_shape *b) {
  for (int i = 0; i < a->rank; i++)
    for (int k = 0; k < b->rank && dp_dim_is_symbolic(a->dims[i]); k++)
      if (dp_dim_equal(a->dims[i], b->dims[k])) a->dims[i] = b->dims[k] = dp_dim_of(1);
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  dp_shape y, known;
  dp_dim total, rest;
  int open;
  char tx[256], ty[256];
  if (!dp_node_attr(node, "shape")) return dp_fail(EX_DATAERR, "shape is missing");
  DP_TRY(dp_common_dims(node, "shape", &y));
  dp_shape_print(&y, ty, sizeof ty);
  DP_TRY(resolve(node, &y, &open));
  known = y;
  if (open >= 0) known.dims[open] = dp_dim_of(1);
  dp_shape had = *x;
  cancel(&had, &known);
  if (!dp_shape_product(&had, 0, had.rank, &total) || !dp_shape_product(&known, 0, known.rank, &rest))
    return dp_fail(EX_DATAERR, "the number of elements of %s or %s is not of the form a * N + b",
                   dp_shape_print(x, tx, sizeof tx), ty);
  if (open >= 0 ? !divide_dims(total, rest, &y.dims[open]) : !dp_dim_equal(total, rest))
    return dp_fail(EX_DATAERR, "an operand of shape %s cannot take the shape %s: the numbers of elements differ",
                   dp_shape_print(x, tx, sizeof tx), ty);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4,3,2]", .attrs = "shape=[N,24]", .n = 5},
    {.inputs = "float32[N,24]", .attrs = "shape=[N,4,3,2]", .n = 5},
    {.inputs = "float32[N,4,6]", .attrs = "shape=[-1,6]", .n = 3},
    {.inputs = "float32[4,6]", .attrs = "shape=[0,2,-1]"},
    {.inputs = "float32[N,4,6]", .attrs = "shape=[N,8,3]", .n = 3},
    {.inputs = "float32[N,N,4]", .attrs = "shape=[N,2,-1,2]", .n = 3},
    {.inputs = "float32[N,0,2]", .attrs = "shape=[N,4,0], allowzero=1", .n = 3},
    {.inputs = "int32[N,2]", .attrs = "shape=[2*N]", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[6]", .attrs = "shape=[2,3]", .low = -9, .high = 9},
    {.inputs = "uint8[N,1,4]", .attrs = "shape=[N,4]", .n = 3, .low = 0, .high = 255},
    {.inputs = "bool[6]", .attrs = "shape=[3,1,2]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Reshape = {
    .name = "Reshape",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_STORED, 'T'), DP_AS_ATTR("shape", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("reshaped", DP_STORED, 'T')},
    .attrs = {{.name = "shape", .kind = DP_ATTR_DIMS}, DP_INT_ATTR("allowzero", 0)},
    .flags = DP_OP_ELEMENTWISE | DP_OP_POSITIONAL | DP_OP_VIEW,
    .infer = infer,
    .gradient = dp_reshape_gradient,
    .sharding = dp_reshape_sharding,
    .samples = samples,
};
