// ReverseSequence: for each position of batch_axis, reverses the first sequence_lens elements along time_axis and keeps
// the rest. Specialized into GatherElements with indices computed from the lengths.
#include "ir/ops/compose.h"

static dp_status axes_of(const dp_node *node, int *time, int *batch) {
  const dp_shape *x = dp_common_shape(node, 0);
  char text[256];
  DP_TRY(dp_common_axis("time_axis", dp_node_int(node, "time_axis", 0), x->rank, time));
  DP_TRY(dp_common_axis("batch_axis", dp_node_int(node, "batch_axis", 1), x->rank, batch));
  if (*time == *batch || dp_dim_is_symbolic(x->dims[*time]))
    return dp_fail(EX_DATAERR,
                   "time_axis is %d and batch_axis %d, of shape %s: they must be two dims, and the time must not "
                   "depend on the batch",
                   *time, *batch, dp_shape_print(x, text, sizeof text));
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  int time, batch;
  DP_TRY(axes_of(node, &time, &batch));
  dp_shape each = {1, {dp_common_shape(node, 0)->dims[batch]}};
  DP_TRY(dp_common_expect("sequence_lens", dp_common_shape(node, 1), &each));
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0);
  int time, batch;
  dp_status status = axes_of(node, &time, &batch);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_shape times = {.rank = x->rank}, lengths = times;
  for (int d = 0; d < x->rank; d++) {
    times.dims[d] = d == time ? x->dims[d] : dp_dim_of(1);
    lengths.dims[d] = d == batch ? x->dims[d] : dp_dim_of(1);
  }
  dp_value *t = dp_build_reshape(b, dp_compose_range(b, DP_INT64, 0, 1, x->dims[time].offset), &times);
  dp_value *length = dp_build_reshape(b, in[1], &lengths);
  dp_value *turned = dp_build2(b, "Sub", dp_elementwise_with(b, "Sub", length, 1), t);
  dp_value *from = dp_compose_where(b, dp_build2(b, "Less", t, length), turned, t);
  out[0] = dp_compose_pick(b, in[0], dp_compose_expand(b, from, x), time);
}

static const dp_sample samples[] = {
    {.inputs = "float32[4,N], int64[N]", .n = 3, .low = 1, .high = 4},
    {.inputs = "float32[N,5,2], int64[N]", .attrs = "time_axis=1, batch_axis=0", .n = 3, .low = 1, .high = 5},
    {.inputs = "int32[N,3], int64[N]", .attrs = "time_axis=1, batch_axis=0", .n = 3, .low = 1, .high = 3},
    {.inputs = "int64[3,2], int64[2]", .low = 1, .high = 3},
    {.inputs = "uint8[3,2], int64[2]", .low = 1, .high = 3},
    {.inputs = "bool[2,2], int64[2]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_ReverseSequence = {
    .name = "ReverseSequence",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_OPERAND("sequence_lens", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("Y", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("batch_axis", 1), DP_INT_ATTR("time_axis", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
