// See sequence.h.
#include "passes/recompute/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "passes/cost/largest_shard.h"

// ---- facts of the graph ---------------------------------------------------------------------------------------------

// What the logical program's outputs depend on, by logical node.
static bool *find_forward(dp_arena *scratch, const dp_graph *logical) {
  bool *forward = dp_alloc_n(scratch, (size_t)logical->n_nodes + 1, sizeof *forward);
  for (int i = 0; i < logical->n_outputs; i++)
    if (logical->outputs[i].value->producer) forward[logical->outputs[i].value->producer->id] = true;
  for (int32_t i = logical->n_nodes; i-- > 0;)
    for (int k = 0; k < logical->nodes[i]->n_inputs && forward[i]; k++) {
      const dp_value *x = logical->nodes[i]->inputs[k];
      if (x && x->producer) forward[x->producer->id] = true;
    }
  return forward;
}

// A communication belongs where what it moves was computed.
static bool is_forward(const dp_node *node, const bool *logical_forward) {
  const dp_node *logical = node->logical;
  for (int k = 0; k < node->n_outputs && !logical; k++)
    if (node->outputs[k] && node->outputs[k]->logical) logical = node->outputs[k]->logical->producer;
  return !logical || logical_forward[logical->id];
}

static bool gathers_variable(const dp_recompute_work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION) || node->n_inputs != 1) return false;
  const dp_value *x = node->inputs[0];
  return x->producer ? w->gathers[x->producer->id] : x->kind == DP_VALUE_VARIABLE;
}

static bool can_repeat(const dp_node *node) {
  if (!node->logical || node->op->flags & (DP_OP_COMMUNICATION | DP_OP_UPDATE)) return false;
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && node->outputs[k]->space != DP_SPACE_TRANSIENT) return false;
  return true;
}

dp_recompute_work dp_recompute_begin(dp_graph *graph, dp_arena *scratch, const dp_target_costs *costs) {
  const size_t nodes = (size_t)graph->n_nodes + 1;
  dp_recompute_work w = {.graph = graph,
                         .scratch = scratch,
                         .forward = dp_alloc_n(scratch, nodes, sizeof(bool)),
                         .candidate = dp_alloc_n(scratch, nodes, sizeof(bool)),
                         .gathers = dp_alloc_n(scratch, nodes, sizeof(bool)),
                         .ns = dp_alloc_n(scratch, nodes, sizeof(double)),
                         .bytes = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof(double))};
  const bool *logical_forward = find_forward(scratch, graph->logical);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    w.forward[i] = is_forward(node, logical_forward);
    w.candidate[i] = w.forward[i] && can_repeat(node);
    w.gathers[i] = gathers_variable(&w, node);
    w.ns[i] = dp_cost_model_ns(costs, graph, node);
  }
  for (int32_t v = 0; v < graph->n_values; v++) {
    const dp_value *value = graph->values[v];
    if (value->kind == DP_VALUE_VARIABLE) w.held += (double)dp_largest_shard_bytes(graph->model, value);
    if (value->space == DP_SPACE_TRANSIENT) w.bytes[v] = (double)dp_largest_shard_bytes(graph->model, value);
  }
  return w;
}

// ---- the sequence ---------------------------------------------------------------------------------------------------

typedef struct {
  const dp_recompute_work *w;
  dp_arena *arena;
  const bool *drop;
  bool *kept;   // (values) a node of the backward pass reads it anyway, or it was gathered for one
  bool *again;  // (nodes) its second computation is in the sequence
  int32_t n_asked, *asked;
  dp_recompute_sequence sequence;
} expansion;

static bool is_read_again(const expansion *e, const dp_value *x) {
  if (!x || !x->producer) return false;
  const int32_t p = x->producer->id;
  return (e->drop[p] && e->w->candidate[p]) || (e->w->gathers[p] && !e->kept[x->id]);
}

static int by_id(const void *a, const void *b) {
  const int32_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void ask_for(expansion *e, const dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!is_read_again(e, x) || e->again[x->producer->id]) continue;
    e->again[x->producer->id] = true;
    DP_PUSH(e->arena, e->asked, e->n_asked, x->producer->id);
  }
}

// Adds what a node of the backward pass needs and what that needs in turn.
static void add_again(expansion *e, const dp_node *node) {
  e->n_asked = 0;
  ask_for(e, node);
  for (int32_t i = 0; i < e->n_asked; i++) ask_for(e, e->w->graph->nodes[e->asked[i]]);
  if (e->n_asked == 0) return;
  qsort(e->asked, (size_t)e->n_asked, sizeof *e->asked, by_id);
  for (int32_t i = 0; i < e->n_asked; i++) {
    const dp_recompute_step step = {e->asked[i], true};
    DP_PUSH(e->arena, e->sequence.steps, e->sequence.count, step);
  }
}

dp_recompute_sequence dp_recompute_expand(const dp_recompute_work *w, dp_arena *arena, const bool *drop) {
  const dp_graph *graph = w->graph;
  expansion e = {.w = w,
                 .arena = arena,
                 .drop = drop,
                 .kept = dp_alloc_n(arena, (size_t)graph->n_values + 1, sizeof(bool)),
                 .again = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof(bool))};
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs && !w->forward[i]; k++)
      if (graph->nodes[i]->inputs[k]) e.kept[graph->nodes[i]->inputs[k]->id] = true;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_recompute_step step = {i, false};
    if (!w->forward[i]) add_again(&e, graph->nodes[i]);
    DP_PUSH(arena, e.sequence.steps, e.sequence.count, step);
  }
  return e.sequence;
}

// ---- the estimate ---------------------------------------------------------------------------------------------------

typedef struct {
  int32_t from, to;  // steps; from -1: never
} lifetime;

static void extend(lifetime *lives, int32_t step) {
  if (lives->from < 0) lives->from = step;
  lives->to = step;
}

dp_recompute_estimate dp_recompute_weigh(const dp_recompute_work *w, const bool *drop) {
  const dp_graph *graph = w->graph;
  dp_recompute_estimate estimate = {0};
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return estimate;
  const dp_recompute_sequence s = dp_recompute_expand(w, arena, drop);
  const size_t n = (size_t)graph->n_values;
  lifetime *lives = dp_alloc_n(arena, 2 * n + 1, sizeof *lives);  // as computed first, then again
  bool *repeated = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *repeated);
  double *more = dp_alloc_n(arena, (size_t)s.count + 2, sizeof *more);
  for (size_t i = 0; i < 2 * n; i++) lives[i] = (lifetime){-1, -1};
  for (int32_t i = 0; i < s.count; i++) {
    const dp_node *node = graph->nodes[s.steps[i].node];
    const bool late = s.steps[i].again || !w->forward[node->id];
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      if (x && x->producer) extend(&lives[(size_t)x->id + (late && repeated[x->producer->id] ? n : 0)], i);
    }
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k]) extend(&lives[(size_t)node->outputs[k]->id + (s.steps[i].again ? n : 0)], i);
    if (s.steps[i].again) estimate.ns += w->ns[node->id];
    repeated[node->id] |= s.steps[i].again;
  }
  for (size_t i = 0; i < 2 * n; i++) {
    if (lives[i].from < 0) continue;
    more[lives[i].from] += w->bytes[i % n];
    more[lives[i].to + 1] -= w->bytes[i % n];
  }
  double now = 0;
  for (int32_t i = 0; i < s.count; i++) {
    now += more[i];
    estimate.held += now;
    if (now > estimate.bytes) estimate.bytes = now;
  }
  estimate.bytes += w->held;
  dp_arena_destroy(arena);
  return estimate;
}
