// Reductions other than sums and means. See reduce_fold.h.
#include "ir/ops/reduce_fold.h"

void dp_reduce_fold_sharding(dp_sharding_rules *rules, dp_placement parts) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  bool reduced[DP_MAX_RANK], keep = dp_node_int(rules->node, "keepdims", 1) != 0;
  dp_status status = dp_reduce_axes(rules->node, x->rank, reduced);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  int result = 0;
  for (int d = 0; d < x->rank; d++) {
    if (!reduced[d]) dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE}, &result);
    for (int v = 0; v < rules->n_views && reduced[d] && parts.kind == DP_PARTIAL; v++) {
      dp_placement in[2] = {dp_shard_in(d, rules->views[v].outer, rules->views[v].unit), dp_replicate()};
      if (dp_sharding_divides(in[0], x->dims[d])) dp_sharding_add_placed(rules, in, &parts);
    }
    result += !reduced[d] || keep;
  }
}

dp_value *dp_reduce_fold_same(dp_builder *builder, const char *op, const dp_node *node, dp_value *x) {
  return dp_build(builder, op, 1, &x, 1, node->n_attrs, node->attrs);
}

void dp_reduce_fold_extreme(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_value *x = node->inputs[0];
  dp_value *equal = dp_build2(builder, "Equal", x, dp_reduce_expand(builder, node, node->outputs[0]));
  dp_value *is = dp_build_cast(builder, equal, x->type->dtype);
  dp_value *share = dp_build2(builder, "Div", dy[0], dp_reduce_fold_same(builder, "ReduceSum", node, is));
  dx[0] = dp_build2(builder, "Mul", is, dp_reduce_expand(builder, node, share));
}

const dp_sample dp_reduce_fold_samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N]", .attrs = "axes=[0], keepdims=0", .n = 8, .low = -9, .high = 9},
    {0},
};

const dp_sample dp_reduce_fold_any_samples[] = {
    {.inputs = "float32[N,3]", .attrs = "axes=[0], keepdims=0", .n = 5},
    {.inputs = "float32[N,3,4]", .attrs = "axes=[-1,0]", .n = 4},
    {.inputs = "float32[N,3,2]", .attrs = "keepdims=0", .n = 3},
    {.inputs = "float32[N,3]", .attrs = "noop_with_empty_axes=1", .n = 4},
    {.inputs = "int32[N,3]", .attrs = "axes=[1]", .n = 4, .low = -9, .high = 9},
    {.inputs = "int64[N]", .attrs = "axes=[0], keepdims=0", .n = 8, .low = -9, .high = 9},
    {.inputs = "uint8[3,4]", .attrs = "axes=[1]", .low = 0, .high = 255},
    {.inputs = "bool[N,3]", .attrs = "axes=[1]", .n = 4, .low = 0, .high = 1},
    {0},
};
