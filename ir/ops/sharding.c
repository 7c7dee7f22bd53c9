// Writing sharding rules. See sharding.h.
#include "ir/ops/sharding.h"

#include <string.h>

bool dp_sharding_divides(dp_placement view, dp_dim extent) {
  int64_t block;
  if (__builtin_mul_overflow(view.outer, view.unit, &block) || extent.scale % block || extent.offset % block)
    return false;
  return extent.scale || extent.offset / block > 1;
}

static dp_placement placed(const dp_value *value, int dim, dp_placement view) {
  if (!value || dim == DP_WHOLE) return dp_replicate();
  if (dim == DP_SUMMED) return dp_partial(DP_SUM);
  return dp_shard_in(dim, view.outer, view.unit);
}

void dp_sharding_split(dp_sharding_rules *rules, dp_dim extent, const int *in, const int *out) {
  const dp_node *node = rules->node;
  for (int v = 0; v < rules->n_views; v++) {
    if (!dp_sharding_divides(rules->views[v], extent)) continue;
    dp_sharding_rule *rule = dp_sharding_add(rules);
    for (int i = 0; i < node->n_inputs; i++) rule->in[i] = placed(node->inputs[i], in[i], rules->views[v]);
    for (int i = 0; i < node->n_outputs; i++) rule->out[i] = placed(node->outputs[i], out[i], rules->views[v]);
  }
}

void dp_sharding_split_but(dp_sharding_rules *rules, int except) {
  const dp_shape *shape = &rules->node->inputs[0]->type->shape;
  int in[DP_MAX_OPERANDS], out[DP_MAX_OPERANDS];
  for (int i = 0; i < DP_MAX_OPERANDS; i++) in[i] = out[i] = DP_WHOLE;
  for (int d = 0; d < shape->rank; d++) {
    if (d == except) continue;
    in[0] = out[0] = d;
    dp_sharding_split(rules, shape->dims[d], in, out);
  }
}

void dp_sharding_linear(dp_sharding_rules *rules, unsigned operands) {
  const dp_node *node = rules->node;
  for (int i = 0; i < 32; i++)
    if ((operands >> i & 1) && (i >= node->n_inputs || !node->inputs[i] || node->inputs[i]->type->dtype == DP_BOOL))
      return;
  dp_sharding_rule *rule = dp_sharding_add(rules);
  for (int i = 0; i < node->n_inputs; i++)
    if (operands >> i & 1) rule->in[i] = dp_partial(DP_SUM);
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) rule->out[i] = dp_partial(DP_SUM);
}

static bool equal(const dp_placement *a, const dp_placement *b, int count) {
  for (int i = 0; i < count; i++)
    if (!dp_placement_equal(a[i], b[i])) return false;
  return true;
}

void dp_sharding_add_placed(dp_sharding_rules *rules, const dp_placement *in, const dp_placement *out) {
  const dp_node *node = rules->node;
  for (int r = 0; r < rules->count; r++)
    if (equal(rules->rules[r].in, in, node->n_inputs) && equal(rules->rules[r].out, out, node->n_outputs)) return;
  dp_sharding_rule *rule = dp_sharding_add(rules);
  if (node->n_inputs) memcpy(rule->in, in, (size_t)node->n_inputs * sizeof *in);
  memcpy(rule->out, out, (size_t)node->n_outputs * sizeof *out);
}
