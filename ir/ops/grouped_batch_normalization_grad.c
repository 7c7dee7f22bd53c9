// dp.GroupedBatchNormalizationGrad(x, scale, mean, invstd, dy) {groups, unit, axis} -> dx, dscale, dbias: the gradient
// of dp.GroupedBatchNormalization through each group's own statistics, which are rows of mean and invstd [groups, C].
//
// As in batch_normalization_grad.c, with the sums and the count of the group; dscale and dbias are sums over all
// groups.
#include "ir/ops/batch_normalization.h"

enum { X, SCALE, MEAN, INVSTD, DY };

static dp_status infer(dp_node *node) {
  dp_shape saved;
  DP_TRY(dp_batch_normalization_check(node, SCALE, 1));
  DP_TRY(dp_batch_normalization_groups(node, &saved));
  return dp_batch_normalization_grad_infer(node, &saved);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  dp_sharding_split(rules, x->dims[1], (int[]){1, 0, 1, 1, 1}, (int[]){1, 0, 0});
  dp_placement samples = dp_shard_in(0, 1, dp_node_int(rules->node, "unit", 1));
  if (!dp_sharding_divides(samples, x->dims[0])) return;
  dp_sharding_rule *rule = dp_batch_normalization_group_row(rules);
  rule->in[X] = rule->in[DY] = rule->out[0] = samples;
  rule->in[MEAN] = rule->in[INVSTD] = dp_shard(0);
  for (int i = 1; i < rules->node->n_outputs; i++)
    if (rules->node->outputs[i]) rule->out[i] = dp_partial(DP_SUM);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3,3], float32[3,3], float32[N,3,2,4]",
     .attrs = "groups=3, axis=\"data\"",
     .n = 7,
     .low = 0.2,
     .high = 2},
    {.inputs = "float32[2*N,4], float32[4], float32[6,4], float32[6,4], float32[2*N,4]",
     .attrs = "groups=6, unit=2, axis=\"data\"",
     .n = 4,
     .low = -1,
     .high = 3},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3,3], float32[3,3], bfloat16[N,3,2,4]",
     .attrs = "groups=3, axis=\"data\"",
     .n = 7,
     .low = 0.2,
     .high = 2},
    {0},
};

const dp_op dp_op_GroupedBatchNormalizationGrad = {
    .name = "GroupedBatchNormalizationGrad",
    .domain = "dp",
    .n_inputs = 5,
    .n_outputs = 3,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'U'), DP_OPERAND("mean", DP_FLOATS, 'U'),
               DP_OPERAND("invstd", DP_FLOATS, 'U'), DP_OPERAND("dY", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("dX", DP_FLOATS, 'T'), DP_OPTIONAL("dscale", DP_FLOATS, 'U'),
                DP_OPTIONAL("dB", DP_FLOATS, 'U')},
    .attrs = {DP_BATCH_NORMALIZATION_GROUPS},
    .flags = DP_OP_CHANNELS,
    .precision = DP_PRECISION_FIRST,
    .infer = infer,
    .sharding = placements,
    .cost = dp_batch_normalization_grad_cost,
    .samples = samples,
};
