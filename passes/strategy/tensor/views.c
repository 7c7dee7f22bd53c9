// Ways to split variables, propagated along sharding rules. See tensor.h.
//
// Each value has a few views of its dims, at first only the plain ones. When an operand or result of a node has a view
// that a rule uses, the rule gives its other operands and results theirs. Views originate from rules that are listed
// for plain views, Reshape's for example. Two sweeps each way carry the heads of an attention to the weights of its
// projections, and the channels before a Flatten to those of the product after it.
#include "ir/graph/op.h"
#include "passes/strategy/tensor/tensor.h"

enum { SWEEPS = 2, MAX_VIEWS = 6 };

typedef struct {
  dp_arena *arena;
  const dp_graph *graph;
  dp_tensor_ways *views;  // by value: Shards that are not plain
} work;

static bool is_plain(dp_placement p) { return p.kind != DP_SHARD || (p.outer == 1 && p.unit == 1); }

static bool has(const dp_tensor_ways *ways, dp_placement p) {
  for (int i = 0; i < ways->count; i++)
    if (dp_placement_equal(ways->ways[i], p)) return true;
  return false;
}

static void add_way(dp_arena *arena, dp_tensor_ways *ways, dp_placement p) {
  if (p.kind == DP_SHARD && ways->count < MAX_VIEWS && !has(ways, p)) DP_PUSH(arena, ways->ways, ways->count, p);
}

// Whether the rule follows from known views: it uses a view that a value has, or a plain split.
static bool is_known(const work *w, const dp_node *node, const dp_sharding_rule *rule) {
  for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
    const dp_value *v = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
    dp_placement p = i < node->n_inputs ? rule->in[i] : rule->out[i - node->n_inputs];
    if (v && p.kind == DP_SHARD && (is_plain(p) || has(&w->views[v->id], p))) return true;
  }
  return false;
}

static void rules_of(const work *w, dp_arena *scratch, const dp_node *node, dp_sharding_rules *rules) {
  dp_placement *given = NULL;
  int n_given = 0;
  for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
    const dp_value *v = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
    for (int k = 0; v && k < w->views[v->id].count; k++) DP_PUSH(scratch, given, n_given, w->views[v->id].ways[k]);
  }
  dp_op_sharding_rules_at(scratch, node, n_given, given, rules);
}

static void visit_node(work *w, const dp_node *node) {
  dp_arena *scratch = w->arena;
  dp_sharding_rules rules;
  rules_of(w, scratch, node, &rules);
  for (int r = 0; r < rules.count; r++) {
    const dp_sharding_rule *rule = &rules.rules[r];
    if (!is_known(w, node, rule)) continue;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i] && !is_plain(rule->in[i])) add_way(w->arena, &w->views[node->inputs[i]->id], rule->in[i]);
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] && !is_plain(rule->out[k])) add_way(w->arena, &w->views[node->outputs[k]->id], rule->out[k]);
  }
}

dp_tensor_ways *dp_tensor_views_find(dp_arena *arena, const dp_graph *graph) {
  work w = {.arena = arena, .graph = graph};
  w.views = dp_alloc_n(arena, (size_t)graph->n_values, sizeof *w.views);
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    for (int32_t i = 0; i < graph->n_nodes; i++) visit_node(&w, graph->nodes[i]);
    for (int32_t i = graph->n_nodes; i-- > 0;) visit_node(&w, graph->nodes[i]);
  }
  dp_tensor_ways *ways = dp_alloc_n(arena, (size_t)graph->model->n_variables, sizeof *ways);
  for (int32_t n = 0; n < graph->n_nodes; n++) {
    const dp_node *node = graph->nodes[n];
    dp_sharding_rules rules;
    rules_of(&w, arena, node, &rules);
    for (int i = 0; i < node->n_inputs; i++)
      for (int r = 0; node->inputs[i] && node->inputs[i]->variable >= 0 && r < rules.count; r++)
        if (is_plain(rules.rules[r].in[i]) || has(&w.views[node->inputs[i]->id], rules.rules[r].in[i]))
          add_way(arena, &ways[node->inputs[i]->variable], rules.rules[r].in[i]);
  }
  return ways;
}
