// List scheduling of one device's streams with a rough cost model: of the nodes that can start first, the one with the
// lowest rank is issued.
//
// Rank is the node's position in the graph, which is the order of the forward and then the backward pass, with two
// exceptions:
//   - nodes that only serve the update of a variable, including communication, rank right after what they need, so that
//     gradients are consumed as early as their reduction allows and no backward node waits for one;
//   - nodes that depend on weights and per-step scalars alone, and transfers, rank right before their first use.
// Computation overtakes a waiting node by only a few positions: what is computed early occupies memory for longer. On
// the stream of collectives, those that a later forward or backward node waits for precede those of updates.
#include "passes/schedule/issue_order.h"

#include <string.h>

#include "passes/schedule/heap.h"
#include "passes/schedule/windows.h"

enum { AHEAD = 16 };  // positions

typedef struct {
  dp_arena *arena;
  const dp_target_costs *costs;
  const dp_graph *graph;
  const dp_issue_order_edges *edges;
  dp_issue_order_edges after;  // the edges reversed
  bool *late;                  // by node: serves an update and nothing else
  int32_t *rank;
  double *ready_ns;
  int32_t *missing;  // how many predecessors were not issued yet
  bool *issued;
  int32_t *by_rank;          // nodes, in order of rank
  int32_t frontier, opened;  // indices into by_rank: the first not issued; the first too far ahead of it
  dp_heap waiting[DP_STREAMS], available[DP_STREAMS];
  double free_ns[DP_STREAMS];
} schedule;

// ---- edges ----------------------------------------------------------------------------------------------------------

dp_issue_order_edges dp_issue_order_edges_turn(dp_arena *arena, const dp_issue_order_edges *edges, int32_t n) {
  dp_issue_order_edges turned = {dp_alloc_n(arena, (size_t)n + 2, sizeof(int32_t)),
                                 dp_alloc_n(arena, (size_t)edges->first[n] + 1, sizeof(int32_t)), NULL};
  for (int32_t e = 0; e < edges->first[n]; e++) turned.first[edges->before[e] + 2]++;
  for (int32_t i = 0; i < n; i++) turned.first[i + 2] += turned.first[i + 1];
  for (int32_t i = 0; i < n; i++)
    for (int32_t e = edges->first[i]; e < edges->first[i + 1]; e++)
      turned.before[turned.first[edges->before[e] + 1]++] = i;
  return turned;
}

// The nodes that read each variable's old value.
static dp_issue_order_edges readers_of(dp_arena *arena, const dp_graph *graph) {
  int32_t n = graph->model->n_variables;
  dp_issue_order_edges readers = {dp_alloc_n(arena, (size_t)n + 2, sizeof(int32_t)), NULL, NULL};
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < graph->n_nodes; i++)
      for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
        const dp_value *x = graph->nodes[i]->inputs[k];
        if (!x || x->kind != DP_VALUE_VARIABLE) continue;
        if (pass)
          readers.before[readers.first[x->variable + 1]++] = i;
        else
          readers.first[x->variable + 2]++;
      }
    if (pass) break;
    for (int32_t p = 0; p < n; p++) readers.first[p + 2] += readers.first[p + 1];
    readers.before = dp_alloc_n(arena, (size_t)readers.first[n + 1] + 1, sizeof(int32_t));
  }
  return readers;
}

// The node that signals each event.
static int32_t *signallers_of(dp_arena *arena, const dp_graph *graph) {
  int32_t *signaller = dp_alloc_n(arena, (size_t)graph->n_events + 1, sizeof *signaller);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (graph->nodes[i]->signal >= 0) signaller[graph->nodes[i]->signal] = i;
  return signaller;
}

// Without what is gathered ahead and offloaded.
static dp_issue_order_edges edges_of(dp_arena *arena, const dp_graph *graph) {
  dp_issue_order_edges edges = {dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof(int32_t)), NULL, NULL};
  const int32_t *signaller = signallers_of(arena, graph);
  dp_issue_order_edges readers = readers_of(arena, graph);
  int32_t *updates = dp_alloc_n(arena, (size_t)graph->n_values + 1, sizeof *updates), n = 0;
  for (int i = 0; i < graph->n_updates; i++) updates[graph->updates[i].value->id] = graph->updates[i].variable + 1;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int w = 0; w < node->n_waits; w++) DP_PUSH(arena, edges.before, n, signaller[node->waits[w]]);
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && node->inputs[k]->producer) DP_PUSH(arena, edges.before, n, node->inputs[k]->producer->id);
    for (int k = 0; k < node->n_outputs; k++) {
      int32_t p = node->outputs[k] ? updates[node->outputs[k]->id] - 1 : -1;
      for (int32_t r = p < 0 ? 0 : readers.first[p]; p >= 0 && r < readers.first[p + 1]; r++)
        if (readers.before[r] != i) DP_PUSH(arena, edges.before, n, readers.before[r]);
    }
    edges.first[i + 1] = n;
  }
  return edges;
}

dp_issue_order_edges dp_issue_order_edges_make(dp_arena *arena, const dp_graph *graph) {
  const dp_issue_order_edges own = edges_of(arena, graph);
  const dp_windows windows = dp_windows_make(arena, graph, &own);
  if (!windows.gathered) return own;
  dp_issue_order_edges edges = {dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof(int32_t)), NULL, windows.when};
  int32_t n = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (windows.gathered[i]) DP_PUSH(arena, edges.before, n, windows.gathered[i] - 1);
    if (windows.offloaded[i]) DP_PUSH(arena, edges.before, n, windows.offloaded[i] - 1);
    for (int32_t e = own.first[i]; e < own.first[i + 1]; e++) DP_PUSH(arena, edges.before, n, own.before[e]);
    edges.first[i + 1] = n;
  }
  return edges;
}

// ---- rank -----------------------------------------------------------------------------------------------------------

static bool writes_storage(const dp_node *node) {
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && node->outputs[k]->space == DP_SPACE_PERSISTENT) return true;
  return dp_windows_offloads(node);
}

static bool all_late(const schedule *s, int32_t i) {
  int32_t first = s->after.first[i], end = s->after.first[i + 1];
  for (int32_t e = first; e < end; e++)
    if (!s->late[s->after.before[e]]) return false;
  return end > first;
}

static bool is_constant(const dp_node *node, const bool *constant) {
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (x && (x->kind == DP_VALUE_INPUT || (x->producer && !constant[x->producer->id]))) return false;
  }
  return true;
}

bool *dp_issue_order_constant(dp_arena *arena, const dp_graph *graph) {
  bool *constant = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *constant);
  for (int32_t i = 0; i < graph->n_nodes; i++) constant[i] = is_constant(graph->nodes[i], constant);
  return constant;
}

static void set_ranks(schedule *s) {
  int32_t n = s->graph->n_nodes;
  const bool *constant = dp_issue_order_constant(s->arena, s->graph);
  for (int32_t i = n; i-- > 0;) {
    const dp_node *node = s->graph->nodes[i];
    s->late[i] = writes_storage(node) || (dp_op_is(node->op, DP_OP_COMMUNICATION) && all_late(s, i));
  }
  for (int32_t i = 0; i < n; i++) {
    int32_t latest = -1;
    for (int32_t e = s->edges->first[i]; s->late[i] && e < s->edges->first[i + 1]; e++)
      if (!constant[s->edges->before[e]] && s->rank[s->edges->before[e]] > latest)
        latest = s->rank[s->edges->before[e]];
    s->rank[i] = latest >= 0 ? latest : i;
  }
  for (int32_t i = n; i-- > 0;) {
    if (!constant[i] && (s->late[i] || !dp_op_is(s->graph->nodes[i]->op, DP_OP_COMMUNICATION))) continue;
    for (int32_t e = s->after.first[i]; e < s->after.first[i + 1]; e++)
      if (s->rank[s->after.before[e]] < s->rank[i]) s->rank[i] = s->rank[s->after.before[e]];
  }
}

// ---- the clock ------------------------------------------------------------------------------------------------------

static bool is_open(const schedule *s, int32_t i) {
  int32_t limit = s->opened < s->graph->n_nodes ? s->opened : -1;
  if (limit < 0 || s->graph->nodes[i]->stream != DP_STREAM_COMPUTE) return true;
  int32_t next = s->by_rank[limit];
  return s->rank[i] != s->rank[next] ? s->rank[i] < s->rank[next] : i < next;
}

static void make_ready(schedule *s, int32_t i) {
  if (!s->missing[i] && is_open(s, i))
    dp_heap_push(s->arena, &s->waiting[s->graph->nodes[i]->stream], (dp_heap_entry){s->ready_ns[i], 0, i});
}

static void open_next(schedule *s) {
  int32_t i = s->by_rank[s->opened++];
  if (s->graph->nodes[i]->stream == DP_STREAM_COMPUTE && !s->issued[i]) make_ready(s, i);
}

// Admits the nodes that are no longer too far ahead.
static void open_more(schedule *s) {
  int32_t n = s->graph->n_nodes;
  while (s->frontier < n && s->issued[s->by_rank[s->frontier]]) s->frontier++;
  while (s->opened < n &&
         (s->opened <= s->frontier || s->rank[s->by_rank[s->opened]] <= s->rank[s->by_rank[s->frontier]] + AHEAD))
    open_next(s);
}

// Nodes by rank, then by position: a counting sort, as ranks are positions.
static void sort_by_rank(schedule *s) {
  int32_t n = s->graph->n_nodes, *first = dp_alloc_n(s->arena, (size_t)n + 2, sizeof *first);
  for (int32_t i = 0; i < n; i++) first[s->rank[i] + 1]++;
  for (int32_t i = 0; i < n; i++) first[i + 1] += first[i];
  for (int32_t i = 0; i < n; i++) s->by_rank[first[s->rank[i]]++] = i;
}

// The stream on which the next node can start first.
static int next_stream(const schedule *s, double *start_ns) {
  static const int order[DP_STREAMS] = {DP_STREAM_UPLOAD, DP_STREAM_COPY, DP_STREAM_RECV,
                                        DP_STREAM_SEND,   DP_STREAM_COMM, DP_STREAM_COMPUTE};
  int best = -1;
  for (int k = 0; k < DP_STREAMS; k++) {
    int q = order[k];
    double at = s->free_ns[q];
    if (!s->available[q].count && !s->waiting[q].count) continue;
    if (!s->available[q].count && s->waiting[q].entries[0].key > at) at = s->waiting[q].entries[0].key;
    if (best >= 0 && at >= *start_ns) continue;
    best = q;
    *start_ns = at;
  }
  return best;
}

static int32_t issue(schedule *s) {
  double start_ns = 0;
  int q = next_stream(s, &start_ns);
  // A gather for an update waits for the previous gather's user, whose rank may be much higher.
  for (; q < 0; q = next_stream(s, &start_ns)) open_next(s);
  while (s->waiting[q].count && s->waiting[q].entries[0].key <= start_ns) {
    int32_t i = dp_heap_pop(&s->waiting[q]).node;
    dp_heap_push(s->arena, &s->available[q], (dp_heap_entry){s->rank[i], q == DP_STREAM_COMM && s->late[i], i});
  }
  int32_t i = dp_heap_pop(&s->available[q]).node;
  s->issued[i] = true;
  double done_ns = s->free_ns[q] = start_ns + dp_cost_model_ns(s->costs, s->graph, s->graph->nodes[i]);
  for (int32_t e = s->after.first[i]; e < s->after.first[i + 1]; e++) {
    int32_t next = s->after.before[e];
    if (s->ready_ns[next] < done_ns) s->ready_ns[next] = done_ns;
    s->missing[next]--;
    make_ready(s, next);
  }
  open_more(s);
  return i;
}

dp_node **dp_issue_order_make(dp_arena *arena, const dp_target_costs *costs, const dp_graph *graph,
                              const dp_issue_order_edges *edges) {
  int32_t n = graph->n_nodes;
  schedule s = {.arena = arena,
                .costs = costs,
                .graph = graph,
                .edges = edges,
                .after = dp_issue_order_edges_turn(arena, edges, n)};
  s.late = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.late);
  s.rank = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.rank);
  s.ready_ns = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.ready_ns);
  s.missing = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.missing);
  s.issued = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.issued);
  s.by_rank = dp_alloc_n(arena, (size_t)n + 1, sizeof *s.by_rank);
  dp_node **order = dp_alloc_n(arena, (size_t)n + 1, sizeof *order);
  set_ranks(&s);
  sort_by_rank(&s);
  for (int32_t i = 0; i < n; i++) s.missing[i] = edges->first[i + 1] - edges->first[i];
  for (int32_t i = 0; i < n; i++)
    if (graph->nodes[i]->stream != DP_STREAM_COMPUTE) make_ready(&s, i);
  open_more(&s);
  for (int32_t i = 0; i < n; i++) order[i] = graph->nodes[issue(&s)];
  return order;
}

static dp_heap_entry by_time(const dp_issue_order_edges *edges, int32_t i) {
  return (dp_heap_entry){(double)(edges->when ? edges->when[i] : i), 0, i};
}

dp_node **dp_issue_order_none(dp_arena *arena, const dp_graph *graph, const dp_issue_order_edges *edges) {
  int32_t n = graph->n_nodes, count = 0;
  dp_issue_order_edges after = dp_issue_order_edges_turn(arena, edges, n);
  int32_t *missing = dp_alloc_n(arena, (size_t)n + 1, sizeof *missing);
  dp_node **order = dp_alloc_n(arena, (size_t)n + 1, sizeof *order);
  dp_heap ready = {0};
  for (int32_t i = 0; i < n; i++) {
    missing[i] = edges->first[i + 1] - edges->first[i];
    if (!missing[i]) dp_heap_push(arena, &ready, by_time(edges, i));
  }
  while (ready.count) {
    int32_t i = dp_heap_pop(&ready).node;
    order[count++] = graph->nodes[i];
    for (int32_t e = after.first[i]; e < after.first[i + 1]; e++) {
      int32_t next = after.before[e];
      if (!--missing[next]) dp_heap_push(arena, &ready, by_time(edges, next));
    }
  }
  return order;
}
