// GlobalAveragePool: the mean over all spatial dims, which are kept with extent 1. Kernels divide by the whole count,
// so a split of a spatial dim gives partial sums. Linear.
#include "ir/ops/global_pool.h"

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_global_pool_axes(x, axes);
  dp_value *count = dp_build_count(b, x, axes, n_axes, dy[0]->type->dtype);
  dp_value *share = dp_build2(b, "Div", dy[0], count);
  dp_attr shape = dp_attr_dims(b->graph->arena, "shape", x);
  dx[0] = dp_build(b, "Expand", 1, &share, 1, 1, &shape);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  for (int d = 0; d < x->rank; d++) {
    int out = d < 2 ? d : DP_SUMMED;
    dp_sharding_split(rules, x->dims[d], &d, &out);
  }
  dp_sharding_linear(rules, 1);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4,5]", .n = 3},
    {.inputs = "float32[N,2,7]", .n = 5},
    {.inputs = "float32[N,2,2,3,2]", .n = 2},
    {0},
};

const dp_op dp_op_GlobalAveragePool = {
    .name = "GlobalAveragePool",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .infer = dp_global_pool_infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
