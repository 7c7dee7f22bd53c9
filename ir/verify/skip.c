// Data that nodes refuse (ir/graph/refusal.h): every update takes a sum of counts, of all such data at least, so that
// all replicas skip a step or none does; and the nodes that report it are computed. There are two such sums at most:
// updates may be skipped for other counts too, such as of gradients that are not finite, and what is updated then is
// not.
#include "ir/graph/refusal.h"

#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  dp_checker *c;
  const dp_graph *graph;
  int n_skips;
  const dp_value *skips[2];  // that updates take
  const dp_value *skip;      // the one that is looked at
  bool *added;               // (nodes) reached once
  dp_refusal_table counts;   // those that add up to it
  uint32_t n_left;
  const dp_value **left;  // to be looked at
} skipping;

static bool is_sum(const dp_node *node) {
  return !*node->op->domain && !strcmp(node->op->name, "Add") && node->n_inputs == 2;
}

// Each sum is added once, so that no number of counts overflows.
static dp_status check_term(skipping *s, const dp_value *term) {
  const dp_node *node = term->producer;
  if (node && dp_op_is(node->op, DP_OP_COUNTS)) {
    dp_refusal_table_add(&s->counts, node->inputs[0], node->outputs[0]);
    return DP_OK;
  }
  if (!node || !is_sum(node) || s->added[node->id])
    return dp_checker_fail(s->c, dp_checker_at_whole(s->c), DP_RULE_MEANING_SKIP,
                           "graph '%s': '%s', by which updates are skipped, is more than a sum of counts: '%s'",
                           s->graph->name, s->skip->name, term->name);
  s->added[node->id] = true;
  for (int k = 0; k < 2; k++) DP_PUSH(s->c->plan_arena, s->left, s->n_left, node->inputs[k]);
  return DP_OK;
}

static dp_status check_updates(skipping *s, const dp_node *refuser) {
  const dp_graph *graph = s->graph;
  for (int u = 0; u < graph->n_updates; u++) {
    const dp_node *producer = graph->updates[u].value->producer;
    const dp_value *skip = producer ? dp_refusal_skip(producer) : NULL;
    bool known = false;
    for (int i = 0; i < s->n_skips; i++) known |= skip == s->skips[i];
    if (skip && !known && s->n_skips < (int)DP_COUNT(s->skips)) s->skips[s->n_skips++] = skip, known = true;
    if (!skip || !known)
      return dp_checker_fail(s->c, dp_checker_at_whole(s->c), DP_RULE_MEANING_SKIP,
                             "graph '%s': the update of '%s' %s, though node '%s' (%s) may refuse data", graph->name,
                             s->c->model->variables[graph->updates[u].variable].name,
                             skip ? "is skipped by another value than the others" : "cannot be skipped", refuser->name,
                             refuser->op->name);
  }
  return DP_OK;
}

static dp_status check_refusers(skipping *s) {
  for (int32_t i = 0; i < s->graph->n_nodes; i++) {
    const dp_node *node = s->graph->nodes[i];
    dp_refusal refusal;
    if (!dp_refusal_of(node, &refusal)) continue;
    if (!dp_refusal_table_find(&s->counts, node->inputs[refusal.operand], &refusal))
      return dp_checker_fail(s->c, dp_checker_at_whole(s->c), DP_RULE_MEANING_SKIP,
                             "graph '%s': what node '%s' (%s) refuses of '%s' is not counted in '%s'", s->graph->name,
                             node->name, node->op->name, node->inputs[refusal.operand]->name, s->skip->name);
  }
  return DP_OK;
}

static const dp_node *first_refuser(const dp_graph *graph) {
  dp_refusal refusal;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (dp_refusal_of(graph->nodes[i], &refusal)) return graph->nodes[i];
  return NULL;
}

static dp_status check_graph(dp_checker *c, const dp_graph *graph) {
  const dp_node *refuser = graph->n_updates ? first_refuser(graph) : NULL;
  if (!refuser) return DP_OK;
  skipping s = {.c = c, .graph = graph};
  DP_TRY(check_updates(&s, refuser));
  for (int i = 0; i < s.n_skips; i++) {
    s.skip = s.skips[i];
    s.added = dp_alloc_n(c->plan_arena, (size_t)graph->n_nodes, sizeof *s.added);
    s.counts = dp_refusal_table_make(c->plan_arena, graph);
    DP_PUSH(c->plan_arena, s.left, s.n_left, s.skip);
    while (s.n_left) DP_TRY(check_term(&s, s.left[--s.n_left]));
    DP_TRY(check_refusers(&s));
  }
  return DP_OK;
}

dp_status dp_checker_skip(dp_checker *c) {
  for (size_t i = 0; i < c->plan->n_graphs; i++) DP_TRY(check_graph(c, c->graphs[i]));
  return DP_OK;
}

dp_status dp_checker_unused(dp_checker *c) {
  for (int32_t i = 0; i < c->graph->n_nodes; i++) {
    dp_refusal refusal;
    if (!c->shared.computed[i] && dp_refusal_of(c->graph->nodes[i], &refusal))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UNUSED,
                             "node '%s' (%s) may refuse data, and no instruction computes it", c->graph->nodes[i]->name,
                             c->graph->nodes[i]->op->name);
  }
  return DP_OK;
}
