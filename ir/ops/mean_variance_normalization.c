// MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9) over `axes` (default [0, 2, 3]), where the
// deviation is that of all elements together. Specialized into means, differences and products.
#include "ir/ops/compose.h"

static dp_status axes_of(const dp_node *node, int64_t *axes, size_t *count) {
  static const int64_t usual[] = {0, 2, 3};
  int rank = dp_common_shape(node, 0)->rank;
  const int64_t *given = dp_node_ints(node, "axes", count);
  bool taken[DP_MAX_RANK] = {0};
  if (!dp_node_attr(node, "axes")) {
    given = usual;
    *count = DP_COUNT(usual);
  }
  for (size_t i = 0; i < *count; i++) {
    int axis;
    DP_TRY(dp_common_axis("axes", given[i], rank, &axis));
    if (taken[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    taken[axis] = true;
  }
  *count = 0;
  for (int d = 0; d < rank; d++)
    if (taken[d]) axes[(*count)++] = d;
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  int64_t axes[DP_MAX_RANK];
  size_t count;
  DP_TRY(axes_of(node, axes, &count));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int64_t axes[DP_MAX_RANK];
  size_t count;
  dp_status status = axes_of(node, axes, &count);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_value *centred = dp_build2(b, "Sub", in[0], dp_build_reduce(b, "ReduceMean", in[0], axes, count, true));
  dp_value *squares = dp_build2(b, "Mul", centred, centred);
  dp_value *deviation = dp_build1(b, "Sqrt", dp_build_reduce(b, "ReduceMean", squares, axes, count, true));
  out[0] = dp_build2(b, "Div", centred, dp_elementwise_with(b, "Add", deviation, 1e-9));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,2]", .n = 3},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,1]", .n = 3},
    {0},
};

const dp_op dp_op_MeanVarianceNormalization = {
    .name = "MeanVarianceNormalization",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_INTS_ATTR("axes")},
    .precision = DP_PRECISION_FULL,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
