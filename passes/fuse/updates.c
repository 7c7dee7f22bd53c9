// updates: updates of parameters that can begin at the same time become one region: one instruction for many tensors.
//
// An update can begin when its gradient is ready and nothing reads its parameter any more. Updates that become ready
// with the same node (the reduction of a bucket, or the norm that gradients are clipped by) are joined whatever their
// size. An update waits for others that become ready later as long as the program never holds more for it than it holds
// at most if no update waits; or if so few bytes of gradients wait that an instruction more would cost what it takes to
// read those. It does not wait for a collective to make another ready, as nobody knows how long that takes and what is
// computed in the meantime. An update of state that is fetched for it stays alone, so that the device has the state of
// a few at a time.
//
// Where the target takes it, an update's region also has the Cast that makes its gradient from 16 bits: half as many
// bytes wait, and the gradient is not stored twice.
#include <stdlib.h>

#include "ir/base/limits.h"
#include "passes/base/pass.h"
#include "passes/fuse/gradient_casts.h"
#include "passes/fuse/held.h"
#include "passes/fuse/regions.h"
#include "passes/schedule/issue_order.h"
#include "passes/schedule/windows.h"

typedef struct {
  const dp_node *node;
  int32_t ready;    // the last node that depends on samples and must come before it; -1: none
  int32_t segment;  // the number of transfers between stages before it
  double bytes;     // of its gradient, which is kept until the update is done
} update;

static int compare_updates(const void *a, const void *b) {
  const update *x = a, *y = b;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
  return x->node->id - y->node->id;
}

// casts: dp_gradient_casts, or NULL.
static double waiting_bytes(const dp_graph *graph, dp_node *const *casts, const dp_node *node) {
  double bytes = 0;
  for (int i = node->n_outputs; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (casts && x && x->producer && casts[x->producer->id]) x = x->producer->inputs[0];
    if (x && x->type->shape.rank && x->space == DP_SPACE_TRANSIENT) bytes += dp_cost_model_bytes(graph->model, x);
  }
  return bytes;
}

// Updates that do not depend on other updates, in the order in which they can begin. begins: (nodes) when each node
// does: an update when it is ready, any other at its position.
static update *find_updates(const dp_graph *graph, dp_arena *scratch, dp_node *const *casts, int32_t *begins,
                            int32_t *count) {
  const dp_issue_order_edges edges = dp_issue_order_edges_make(scratch, graph);
  const bool *constant = dp_issue_order_constant(scratch, graph);
  bool *after_update = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *after_update);
  update *updates = NULL;
  int32_t segment = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    update one = {.node = node, .ready = -1, .segment = segment, .bytes = waiting_bytes(graph, casts, node)};
    bool free = true;
    for (int32_t e = edges.first[i]; e < edges.first[i + 1]; e++) {
      if (!constant[edges.before[e]]) one.ready = (int32_t)dp_max_i64(one.ready, edges.before[e]);
      free &= !after_update[edges.before[e]];
    }
    const bool updates_now = dp_op_is(node->op, DP_OP_UPDATE) && !dp_windows_takes_fetched(node);
    after_update[i] = updates_now || !free;
    segment += dp_regions_is_transfer(node);
    begins[i] = i;
    if (!updates_now || !free || !node->logical || node->n_waits || node->signal >= 0) continue;
    if (one.ready >= 0) begins[i] = one.ready;
    DP_PUSH(scratch, updates, *count, one);
  }
  if (*count) qsort(updates, (size_t)*count, sizeof *updates, compare_updates);
  return updates;
}

// Casts of gradients begin when the updates do that take them. Forgets those of other updates.
static void move_casts(const dp_graph *graph, dp_arena *scratch, const update *updates, int32_t count, dp_node **casts,
                       int32_t *begins) {
  bool *takes = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *takes);
  for (int32_t i = 0; i < count; i++) takes[updates[i].node->id] = true;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (casts[i] && !takes[casts[i]->id]) casts[i] = NULL;
    if (casts[i]) begins[i] = begins[casts[i]->id];
  }
}

typedef struct {
  const dp_graph *graph;
  const double *held;  // (positions) dp_held_bytes
  double most;         // of these
  double few;          // bytes of gradients that may wait in any case
} waiting;

// Whether so many bytes can wait at the positions behind `from` up to `to`, where another update becomes ready.
static bool can_wait(const waiting *w, double bytes, int32_t from, int32_t to) {
  bool can = from == to || !dp_op_is(w->graph->nodes[to]->op, DP_OP_COMMUNICATION);
  for (int32_t i = from + 1; i <= to && can; i++) can = w->held[i] + bytes <= w->most;
  return can || bytes <= w->few;
}

// Of the updates from `first` on, how many become one region.
static int32_t count_joined(const waiting *w, const update *updates, int32_t first, int32_t count) {
  const update *u = &updates[first];
  double bytes = u->bytes;
  int operands = u->node->n_inputs;
  int32_t end = first + 1;
  for (; end < count && updates[end].segment == u->segment && updates[end].node->op == u->node->op; end++) {
    operands += updates[end].node->n_inputs;
    if (operands > DP_LIMIT_OUTPUTS || !can_wait(w, bytes, updates[end - 1].ready, updates[end].ready)) break;
    bytes += updates[end].bytes;
  }
  return end - first;
}

static dp_status join_updates(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  const dp_target *target = compile->options->target;
  dp_regions_put_in_order(graph, scratch);
  int32_t count = 0, *group_of = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *group_of);
  int32_t *begins = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *begins);
  dp_node **casts = target->gradient_casts ? dp_gradient_casts(graph, scratch) : NULL;
  const update *updates = find_updates(graph, scratch, casts, begins, &count);
  if (casts) move_casts(graph, scratch, updates, count, casts, begins);
  waiting w = {.graph = graph,
               .held = dp_held_bytes(graph, scratch, begins),
               .few = target->costs.start_ns * target->costs.bytes_per_ns};
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    group_of[i] = i;
    if (w.held[i] > w.most) w.most = w.held[i];
  }
  for (int32_t first = 0, joined; first < count; first += joined) {
    joined = count_joined(&w, updates, first, count);
    for (int32_t i = 0; i < joined; i++) group_of[updates[first + i].node->id] = group_of[updates[first].node->id];
  }
  for (int32_t i = 0; casts && i < graph->n_nodes; i++)
    if (casts[i]) group_of[i] = group_of[casts[i]->id];
  dp_regions_make(graph, scratch, graph->n_nodes, group_of);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse;
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, join_updates);
}

const dp_pass dp_pass_updates = {
    .name = "updates",
    .what = "updates that can begin together become one region",
    .needs = DP_HAS_ROLES,
    .run = run,
};
