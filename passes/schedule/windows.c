// See windows.h.
//
// Variables are gathered, and what was offloaded is fetched, one user ahead and no more: while the user before
// computes, and so after the one before that. Likewise what makes a value that is offloaded waits until the values of
// the last but one that made some are away: memory is shared only by what is ordered.
//
// "Before" is by the time at which a user can begin. Where all are gathers that is the graph's order. Where something
// is fetched, an update counts from when its gradient is there and its parameter is no longer read, wherever it stands
// in the graph. So time rises along every edge: a node's is above those of all that it must follow, a Fetch has that of
// its first user and comes before it, an Offload that of its maker; and what is added here goes from a lower time to a
// higher one. Nothing waits for itself. Stages of a pipeline have their transfers at the same places of one order, so
// nor do they wait for each other in a circle if each stage's nodes are issued by time.
#include "passes/schedule/windows.h"

#include <stdlib.h>

typedef struct {
  int64_t when;
  int32_t node;   // of a Fetch or gather; of an Offload
  int32_t other;  // its first user; what makes its operand
} moment;

static int by_time(const void *a, const void *b) {
  const moment *x = a, *y = b;
  if (x->when != y->when) return x->when < y->when ? -1 : 1;
  if (x->other != y->other) return x->other < y->other ? -1 : 1;
  return x->node - y->node;
}

bool dp_windows_takes_fetched(const dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] && node->inputs[k]->producer && dp_windows_fetches(node->inputs[k]->producer)) return true;
  return false;
}

// Whether the node gathers a variable, of this stage or another, or fetches what was offloaded.
static bool gathers(const dp_node *node) {
  if (dp_windows_fetches(node)) return node->stream == DP_STREAM_COPY;
  if (node->stream != DP_STREAM_COMM) return false;
  const dp_value *x = node->inputs[0];
  return x->kind == DP_VALUE_VARIABLE ||
         (x->producer->stream == DP_STREAM_RECV && x->logical->kind == DP_VALUE_VARIABLE);
}

// ---- time -----------------------------------------------------------------------------------------------------------

static bool gives_numbers(const dp_node *node) {
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && node->outputs[k]->type->shape.rank) return false;
  return true;
}

static bool is_update(const dp_node *node) {
  if (!node->body) return dp_op_is(node->op, DP_OP_UPDATE);
  for (int32_t m = 0; m < node->body->n_nodes; m++)
    if (dp_op_is(node->body->nodes[m]->op, DP_OP_UPDATE)) return true;
  return false;
}

// Twice a position of the node at which all that it must follow have lower ones; or, of an update that takes what is
// fetched, just after the last of these.
static int64_t *times_of(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges) {
  const bool *constant = dp_issue_order_constant(arena, graph);
  int64_t *position = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *position);
  int64_t *when = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *when);
  dp_node **order = dp_issue_order_none(arena, graph, edges);
  for (int32_t k = 0; k < graph->n_nodes; k++) {
    const dp_node *node = order[k];
    const int32_t i = node->id;
    int64_t after = -1;  // without what is fetched, and numbers that depend on no sample and so on nothing gathered
    position[i] = i;
    for (int32_t e = edges->first[i]; e < edges->first[i + 1]; e++) {
      const int32_t b = edges->before[e];
      position[i] = dp_max_i64(position[i], position[b] + 1);
      const dp_node *before = graph->nodes[b];
      if (!dp_windows_fetches(before) && !(constant[b] && gives_numbers(before)))
        after = dp_max_i64(after, position[b]);
    }
    when[i] = is_update(node) && dp_windows_takes_fetched(node) ? 2 * after + 1 : 2 * position[i];
  }
  return when;
}

// ---- windows --------------------------------------------------------------------------------------------------------

// when: NULL: the graph's order.
static void gather_ahead(dp_arena *arena, const dp_graph *graph, int64_t *when, int32_t *gathered) {
  int32_t *user = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *user);  // by gather: its first user, plus 1
  for (int32_t i = graph->n_nodes; i-- > 0;)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (!x || !x->producer) continue;
      int32_t *first = &user[x->producer->id];
      if (!*first || !when || when[i] <= when[*first - 1]) *first = i + 1;
    }
  moment *moments = NULL;
  int32_t count = 0, last = 0, second = 0, third = 0;  // users, from the last one gathered for
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (!user[i] || !gathers(graph->nodes[i])) continue;
    const moment one = {when ? when[user[i] - 1] : 0, i, user[i]};
    if (when) when[i] = one.when;
    DP_PUSH(arena, moments, count, one);
  }
  if (count && when) qsort(moments, (size_t)count, sizeof *moments, by_time);
  for (int32_t m = 0; m < count; m++) {
    if (!when && moments[m].other < last) continue;
    if (moments[m].other != last) {
      third = second;
      second = last;
      last = moments[m].other;
    }
    gathered[moments[m].node] = third;
  }
}

static void offload_behind(dp_arena *arena, const dp_graph *graph, int64_t *when, int32_t *offloaded) {
  moment *moments = NULL;
  int32_t count = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    if (!dp_windows_offloads(node) || !node->inputs[0]->producer) continue;
    const int32_t maker = node->inputs[0]->producer->id;
    const moment one = {when[maker], i, maker};
    when[i] = one.when;
    DP_PUSH(arena, moments, count, one);
  }
  if (count) qsort(moments, (size_t)count, sizeof *moments, by_time);
  int32_t maker = -1, away = 0, away_before = 0;  // the last Offload, plus 1, of this maker and of the one before
  for (int32_t m = 0; m < count; m++) {
    if (moments[m].other != maker) {
      offloaded[moments[m].other] = away_before;
      away_before = away;
      maker = moments[m].other;
    }
    away = moments[m].node + 1;
  }
}

dp_windows dp_windows_make(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges) {
  bool any = false, moves = false;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    any |= gathers(node);
    moves |= node->stream == DP_STREAM_COPY && (dp_windows_fetches(node) || dp_windows_offloads(node));
  }
  if (!any && !moves) return (dp_windows){0};
  dp_windows windows = {dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof(int32_t)),
                        dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof(int32_t)), NULL};
  int64_t *when = moves ? times_of(arena, graph, edges) : NULL;
  windows.when = when;
  gather_ahead(arena, graph, when, windows.gathered);
  if (when) offload_behind(arena, graph, when, windows.offloaded);
  return windows;
}
