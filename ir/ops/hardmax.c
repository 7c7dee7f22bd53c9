// Hardmax: 1 at the first largest element along `axis`, 0 elsewhere. Specialized into ArgMax and a comparison with the
// positions.
#include "ir/ops/compose.h"

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), x->rank, &axis));
  if (dp_dim_is_symbolic(x->dims[axis]) || x->dims[axis].offset < 1)
    return dp_fail(EX_DATAERR, "dim %d has no largest element that can be found: it depends on the batch or is empty",
                   axis);
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t axis = dp_node_int(node, "axis", -1);
  if (axis < 0) axis += x->rank;
  dp_attr attr = dp_attr_int("axis", axis);
  dp_shape along = {.rank = x->rank};
  for (int d = 0; d < x->rank; d++) along.dims[d] = d == axis ? x->dims[d] : dp_dim_of(1);
  dp_value *range = dp_compose_range(b, DP_INT64, 0, 1, x->dims[axis].offset);
  dp_value *best = dp_build(b, "ArgMax", 1, in, 1, 1, &attr);
  dp_value *is = dp_build2(b, "Equal", best, dp_build_reshape(b, range, &along));
  out[0] = dp_build_cast(b, is, in[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5]", .n = 4},
    {.inputs = "float32[2,N,3]", .attrs = "axis=0", .n = 4},
    {0},
};

const dp_op dp_op_Hardmax = {
    .name = "Hardmax",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
