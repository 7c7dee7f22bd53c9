// ReduceMean over axes (all when none are named): the sum divided by the whole count, also for a part. Linear, except
// for integers, whose means are truncated.
#include "ir/ops/reduce_fold.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  bool reduced[DP_MAX_RANK];
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = 0;
  dp_status status = dp_reduce_axes(node, x->rank, reduced);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int d = 0; d < x->rank; d++)
    if (reduced[d]) axes[n_axes++] = d;
  dp_value *count = dp_build_count(b, x, axes, n_axes, dy[0]->type->dtype);
  dx[0] = dp_reduce_expand(b, node, dp_build2(b, "Div", dy[0], count));
}

static void placements(dp_sharding_rules *rules) {
  if (dp_type_is_float(rules->node->inputs[0]->type->dtype))
    dp_reduce_sharding(rules);
  else
    dp_reduce_fold_sharding(rules, dp_replicate());
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 6},
    {.inputs = "float32[N,3,4]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "float32[2,3]", .attrs = "axes=[1]"},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N,3]", .attrs = "axes=[0], keepdims=0", .n = 4, .low = -9, .high = 9},
    {0},
};

const dp_op dp_op_ReduceMean = {
    .name = "ReduceMean",
    .domain = "",
    DP_REDUCE_SCHEMA(DP_NUMBERS),
    .precision = DP_PRECISION_FULL,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
