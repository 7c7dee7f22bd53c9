// dp.GroupedBatchNormalization(x, scale, bias) {groups, unit, axis} -> y, saved_mean, saved_invstd [, mean, var]: batch
// normalization as each of several devices does it alone, as one operator on the whole batch.
//
// A sample is `unit` rows of x (dim 0). Of n samples, group g has [floor(g n / groups), floor((g + 1) n / groups)). It
// is normalised by its own mean and variance, one row each in the saved results [groups, C]. mean and var [C] are those
// of the group with the first sample, which PyTorch's DataParallel and DistributedDataParallel keep. The variance is
// unbiased if `unbiased`; both are 0 for a batch without samples. A group of a single element per channel has variance
// 0, so y is the bias; PyTorch refuses it. An empty group has mean and variance 0, which nothing uses.
//
// Mesh axis `axis` splits samples at group boundaries if its size divides the number of groups; other axes need not.
#include "ir/ops/batch_normalization.h"

enum { X, SCALE, BIAS };
enum { Y, SAVED_MEAN, SAVED_INVSTD, BATCH_MEAN, BATCH_VAR, RESULTS };

dp_status dp_batch_normalization_groups(const dp_node *node, dp_shape *saved) {
  const dp_shape *x = dp_common_shape(node, X);
  int64_t groups = dp_node_int(node, "groups", 0), unit = dp_node_int(node, "unit", 1);
  if (groups < 1 || groups > INT32_MAX || unit < 1)
    return dp_fail(EX_DATAERR, "groups is %lld and unit %lld where 1 or more is expected", (long long)groups,
                   (long long)unit);
  if (x->dims[0].scale % unit || x->dims[0].offset % unit)
    return dp_fail(EX_DATAERR, "the first dim does not consist of units of %lld rows", (long long)unit);
  *saved = (dp_shape){.rank = 2, .dims = {dp_dim_of(groups), x->dims[1]}};
  return DP_OK;
}

dp_sharding_rule *dp_batch_normalization_group_row(dp_sharding_rules *rules) {
  dp_sharding_rule *rule = dp_sharding_add(rules);
  rule->axis = dp_node_string(rules->node, "axis", "");
  rule->groups = dp_node_int(rules->node, "groups", 1);
  return rule;
}

static dp_status infer(dp_node *node) {
  dp_shape saved;
  DP_TRY(dp_batch_normalization_check(node, SCALE, 2));
  DP_TRY(dp_batch_normalization_groups(node, &saved));
  double epsilon = dp_node_float(node, "epsilon", 1e-5);
  if (!(epsilon >= 0)) return dp_fail(EX_DATAERR, "epsilon is %g where 0 or more is expected", epsilon);
  const dp_dtype dtype = node->inputs[SCALE]->type->dtype;
  dp_common_set(node, Y, node->inputs[X]->type->dtype, dp_common_shape(node, X));
  for (int i = SAVED_MEAN; i <= SAVED_INVSTD; i++) dp_common_set(node, i, dtype, &saved);
  for (int i = BATCH_MEAN; i < RESULTS; i++) dp_common_set(node, i, dtype, dp_common_shape(node, SCALE));
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  if (!dy[Y]) return;  // none through the statistics
  dp_attr attrs[] = {dp_attr_int("groups", dp_node_int(node, "groups", 1)),
                     dp_attr_int("unit", dp_node_int(node, "unit", 1)),
                     dp_attr_string("axis", dp_node_string(node, "axis", ""))};
  dp_value *in[] = {node->inputs[X], node->inputs[SCALE], node->outputs[SAVED_MEAN], node->outputs[SAVED_INVSTD],
                    dy[Y]};
  dp_value *first = dp_build(b, "dp.GroupedBatchNormalizationGrad", 5, in, 3, DP_COUNT(attrs), attrs);
  if (b->status) return;
  for (int i = 0; i < 3; i++) dx[i] = first->producer->outputs[i];
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  dp_sharding_split(rules, x->dims[1], (int[]){1, 0, 0}, (int[]){1, 1, 1, 0, 0});
  dp_placement samples = dp_shard_in(0, 1, dp_node_int(rules->node, "unit", 1));
  if (!dp_sharding_divides(samples, x->dims[0])) return;
  dp_sharding_rule *rule = dp_batch_normalization_group_row(rules);
  rule->in[X] = rule->out[Y] = samples;
  rule->out[SAVED_MEAN] = rule->out[SAVED_INVSTD] = dp_shard(0);
  for (int i = BATCH_MEAN; i < rules->node->n_outputs; i++)
    if (rules->node->outputs[i]) rule->out[i] = dp_partial(DP_SUM);  // the others add 0
}

static dp_cost cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 7 * (double)dp_shape_count(dp_common_shape(node, X), n));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,2,4], float32[3], float32[3]",
     .attrs = "groups=3, axis=\"data\"",
     .n = 7,
     .low = 0.2,
     .high = 2},
    {.inputs = "float32[N,4], float32[4], float32[4]",
     .attrs = "groups=2, axis=\"data\", epsilon=0.01, unbiased=1",
     .n = 5,
     .low = -1,
     .high = 3},
    // Samples of two rows; fewer of them than groups.
    {.inputs = "float32[2*N,4], float32[4], float32[4]",
     .attrs = "groups=6, unit=2, axis=\"data\", unbiased=1",
     .n = 4,
     .low = -1,
     .high = 3},
    {.inputs = "bfloat16[N,3,2,4], float32[3], float32[3]",
     .attrs = "groups=3, axis=\"data\"",
     .n = 7,
     .low = 0.2,
     .high = 2,
     .no_gradient = true},
    {0},
};

const dp_op dp_op_GroupedBatchNormalization = {
    .name = "GroupedBatchNormalization",
    .domain = "dp",
    .n_inputs = 3,
    .n_outputs = RESULTS,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("scale", DP_FLOATS, 'U'), DP_OPERAND("B", DP_FLOATS, 'U')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T'), DP_OPERAND("saved_mean", DP_FLOATS, 'U'),
                DP_OPERAND("saved_invstd", DP_FLOATS, 'U'), DP_OPTIONAL("mean", DP_FLOATS, 'U'),
                DP_OPTIONAL("var", DP_FLOATS, 'U')},
    .attrs = {DP_BATCH_NORMALIZATION_GROUPS, DP_FLOAT_ATTR("epsilon", 1e-5), DP_INT_ATTR("unbiased", 0)},
    .flags = DP_OP_CHANNELS,
    .precision = DP_PRECISION_FIRST,
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .cost = cost,
    .samples = samples,
};
