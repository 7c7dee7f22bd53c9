// bucket: reduces several sums at once: one AllReduce node for each bucket of them. The pass `memory` makes a bucket's
// operands adjacent.
//
// A bucket joins all-reduces over the same axis, by the same reduction, with the same element type, which are either
//   - awaited only by their own ends: gradients on their way to updates, with clipping or without, and the loss. They
//     are divided in the order in which computation makes them ready, by cost (bucket_size.c); or
//   - awaited by computation, but none of them before the last is ready. Such are the gradients of a normalization's
//     scale and bias, which the gradient of its operand needs.
// None of them may depend on another. The longest chain of collectives downstream of each decides: when it is equal for
// two, neither is downstream of the other, so joining only such nodes makes no cycle. In a pipeline no other node may
// move, least of all a transfer between stages: there nothing may wait for a member before the last one is ready.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/limits.h"
#include "passes/base/pass.h"
#include "passes/schedule/bucket_size.h"
#include "passes/schedule/issue_order.h"

// A bucket's operands lie side by side from the first one's gradient on, so its size is memory too. Larger single ones
// are reduced alone.
enum { MOST_BYTES = 25 << 20 };

typedef struct {
  dp_node *node;
  int axis, after;     // mesh axis; length of the longest chain of collectives downstream
  bool holds_up;       // delays computation whose result another collective reduces
  int32_t first_user;  // node
  int32_t ready;       // the node that computes the operand
} member;

typedef struct {
  const dp_target_costs *costs;
  dp_graph *graph;
  dp_arena *scratch;
  int *after;           // (nodes) the longest chain of collectives downstream
  bool *holds_up;       // (nodes) computation downstream leads to a collective
  int32_t *first_user;  // (nodes)
  double *ready_ns;     // (nodes + 1) computation time of all nodes before
  int32_t last_hold;    // the last node whose result a collective that holds up takes; -1: there is none
  int32_t n_members;
  member *members;
} work;

// ---- which ----------------------------------------------------------------------------------------------------------

static void note_hold(work *w, const dp_node *collective) {
  for (int k = 0; k < collective->n_inputs; k++) {
    const dp_value *x = collective->inputs[k];
    if (x && x->producer && x->producer->id > w->last_hold) w->last_hold = x->producer->id;
  }
}

static void look_downstream(work *w, const dp_issue_order_edges *edges) {
  w->last_hold = -1;
  for (int32_t i = w->graph->n_nodes; i-- > 0;) {
    const dp_node *node = w->graph->nodes[i];
    bool collective = dp_cost_model_stream(node) == DP_STREAM_COMM;
    if (collective && w->holds_up[i]) note_hold(w, node);
    bool computes_for_one = !dp_op_is(node->op, DP_OP_COMMUNICATION) && w->after[i];
    for (int32_t e = edges->first[i]; e < edges->first[i + 1]; e++) {
      int32_t before = edges->before[e];
      w->first_user[before] = i;
      w->holds_up[before] |= w->holds_up[i] || computes_for_one;
      if (w->after[before] < w->after[i] + collective) w->after[before] = w->after[i] + collective;
    }
  }
  for (int32_t i = 0; i < w->graph->n_nodes; i++) {
    const dp_node *node = w->graph->nodes[i];
    bool computes = dp_cost_model_stream(node) == DP_STREAM_COMPUTE;
    w->ready_ns[i + 1] = w->ready_ns[i] + (computes ? dp_cost_model_ns(w->costs, w->graph, node) : 0);
  }
}

static void find_members(work *w) {
  const dp_op *all_reduce = dp_op_find("dp", "AllReduce");
  bool *taken = dp_alloc_n(w->scratch, (size_t)w->graph->n_values + 1, sizeof *taken);
  for (int32_t i = 0; i < w->graph->n_nodes; i++) {
    dp_node *node = w->graph->nodes[i];
    if (node->op != all_reduce || node->n_inputs != 1) continue;
    const dp_value *x = node->inputs[0], *y = node->outputs[0];
    if (!x->producer || x->space != DP_SPACE_TRANSIENT || y->space != DP_SPACE_TRANSIENT || taken[x->id]) continue;
    taken[x->id] = true;
    member m = {.node = node, .after = w->after[i], .ready = x->producer->id};
    m.holds_up = w->holds_up[i];
    m.first_user = w->first_user[i];
    while (dp_placement_equal(x->placements[m.axis], y->placements[m.axis])) m.axis++;
    DP_PUSH(w->scratch, w->members, w->n_members, m);
  }
}

static int kind_order(const member *x, const member *y) {
  const dp_value *a = x->node->inputs[0], *b = y->node->inputs[0];
  dp_reduction by_a = a->placements[x->axis].reduction, by_b = b->placements[y->axis].reduction;
  if (x->holds_up != y->holds_up) return x->holds_up ? -1 : 1;
  if (x->axis != y->axis) return x->axis < y->axis ? -1 : 1;
  if (x->after != y->after) return x->after < y->after ? -1 : 1;
  if (a->type->dtype != b->type->dtype) return a->type->dtype < b->type->dtype ? -1 : 1;
  return (by_a > by_b) - (by_a < by_b);
}

static int by_kind_and_time(const void *a, const void *b) {
  const member *x = a, *y = b;
  int kind = kind_order(x, y);
  if (kind) return kind;
  if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
  return (x->node->id > y->node->id) - (x->node->id < y->node->id);
}

// ---- joining --------------------------------------------------------------------------------------------------------

// The first member's node reduces them all, and moves to where the last is ready; the other nodes are left without
// operands and results.
static void join_members(work *w, const member *members, int32_t count) {
  if (count < 2) return;
  dp_node *node = members[0].node;
  for (int32_t i = 1; i < count; i++)
    if (members[i].node->id < node->id) node = members[i].node;
  dp_value **inputs = dp_alloc_n(w->graph->arena, (size_t)count, sizeof(dp_value *));
  dp_value **outputs = dp_alloc_n(w->graph->arena, (size_t)count, sizeof(dp_value *));
  for (int32_t i = 0; i < count; i++) {
    dp_node *one = members[i].node;
    inputs[i] = one->inputs[0];
    outputs[i] = one->outputs[0];
    outputs[i]->producer = node;
    outputs[i]->result = i;
    one->n_inputs = one->n_outputs = 0;
  }
  node->inputs = inputs;
  node->outputs = outputs;
  node->n_inputs = node->n_outputs = count;
}

// How many, from the first on, are ready before anything waits for one of them.
static int32_t count_at_once(const member *members, int32_t count) {
  int32_t n = 1, needed = members[0].first_user;
  while (n < count && members[n].ready < needed) needed = (int32_t)dp_min_i64(needed, members[n++].first_user);
  return n;
}

// Members of one kind, in order of time.
static void divide_members(work *w, const member *members, int32_t count) {
  int32_t *ends = dp_alloc_n(w->scratch, (size_t)count, sizeof *ends), n = 0;
  if (members->holds_up) {
    for (int32_t at = 0; at < count; at = ends[n++]) ends[n] = at + count_at_once(&members[at], count - at);
  } else {
    dp_bucket_member *sized = dp_alloc_n(w->scratch, (size_t)count, sizeof *sized);
    double largest = 0;
    for (int32_t i = 0; i < count; i++) {
      double bytes = dp_cost_model_bytes(w->graph->model, members[i].node->inputs[0]);
      sized[i] = (dp_bucket_member){w->ready_ns[members[i].ready + 1], bytes};
      largest = fmax(largest, bytes);
    }
    // A collective that computation waits for must not queue behind more than a single member would put before it. One
    // that is ready before all members (how many labels count) is before them in the queue.
    const double most_bytes = w->last_hold > members->ready ? fmin(largest, MOST_BYTES) : MOST_BYTES;
    n = dp_bucket_size(w->scratch, w->costs, count, sized, count, most_bytes, ends);
  }
  for (int32_t b = 0, first = 0; b < n; first = ends[b++])
    for (int32_t at = first, count_now; at < ends[b]; at += count_now) {
      const int32_t most = (int32_t)dp_min_i64(ends[b] - at, DP_LIMIT_OUTPUTS);
      count_now = w->graph->stage < 0 ? most : count_at_once(&members[at], most);
      join_members(w, &members[at], count_now);
    }
}

static void put_in_order(work *w) {
  dp_issue_order_edges edges = dp_issue_order_edges_make(w->scratch, w->graph);
  dp_graph_reorder(w->graph, dp_issue_order_none(w->scratch, w->graph, &edges));
}

static void take_out_empty(work *w) {
  dp_graph *graph = w->graph;
  bool *keep_node = dp_alloc_n(w->scratch, (size_t)graph->n_nodes + 1, sizeof *keep_node);
  bool *keep_value = dp_alloc_n(w->scratch, (size_t)graph->n_values + 1, sizeof *keep_value);
  for (int32_t i = 0; i < graph->n_nodes; i++) keep_node[i] = graph->nodes[i]->n_outputs > 0;
  memset(keep_value, true, (size_t)graph->n_values * sizeof *keep_value);
  dp_graph_prune(graph, keep_node, keep_value);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  size_t n = (size_t)graph->n_nodes + 1;
  work w = {.costs = &compile->options->target->costs, .graph = graph, .scratch = scratch};
  w.after = dp_alloc_n(scratch, n, sizeof *w.after);
  w.holds_up = dp_alloc_n(scratch, n, sizeof *w.holds_up);
  w.first_user = dp_alloc_n(scratch, n, sizeof *w.first_user);
  w.ready_ns = dp_alloc_n(scratch, n, sizeof *w.ready_ns);
  dp_issue_order_edges edges = dp_issue_order_edges_make(scratch, graph);
  look_downstream(&w, &edges);
  find_members(&w);
  if (w.n_members > 1) {
    qsort(w.members, (size_t)w.n_members, sizeof *w.members, by_kind_and_time);
    for (int32_t from = 0, to; from < w.n_members; from = to) {
      for (to = from + 1; to < w.n_members && !kind_order(&w.members[from], &w.members[to]);) to++;
      divide_members(&w, &w.members[from], to - from);
    }
    put_in_order(&w);
    take_out_empty(&w);
  }
  graph->unchanged = w.n_members <= 1;
  return DP_OK;
}

static dp_status run(dp_compile *compile) { return dp_pass_each_graph(compile, run_graph); }

const dp_pass dp_pass_bucket = {
    .name = "bucket",
    .what = "reduces gradients several at once, in buckets sized by cost",
    .needs = DP_HAS_ROLES,
    .run = run,
};
