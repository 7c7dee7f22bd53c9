// streams: puts the nodes of each program on streams, in order, with the events that order needs.
//
// Three streams a device: "compute", "comm" (every collective, in one order, that in which their operands are ready, so that
// an early gradient is reduced while earlier layers are still in backward), "copy" (from and to the host). Updates come last
// on "compute", in the order in which their gradients are reduced. An event stands wherever a node needs a result of another
// stream, or overwrites a persistent value that a node of another stream reads, unless what was waited for before implies it.
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "passes/list.h"

enum { COMPUTE, COMM, COPY, N_STREAMS };

static const char *const stream_names[N_STREAMS] = {"compute", "comm", "copy"};

typedef struct {
  dp_node *node;
  int stream;
  int64_t ready;         // place in the walk at which its operands are there
  int place;             // in its stream
  int clock[N_STREAMS];  // how many of each stream are known to be done when it is done, itself counted
} item;

static int stream_of(const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return COMPUTE;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->space == DP_SPACE_HOST_INPUT) return COPY;
  if (node->outputs[0]->space == DP_SPACE_HOST_OUTPUT) return COPY;
  // A slice talks to nobody.
  bool partial_or_shard = false;
  for (int a = 0; a < DP_MAX_MESH; a++)
    partial_or_shard |= !dp_placement_equal(node->inputs[0]->placements[a], node->outputs[0]->placements[a]) &&
                        node->inputs[0]->placements[a].kind != DP_REPLICATE;
  return partial_or_shard ? COMM : COMPUTE;
}

// ---- order ----------------------------------------------------------------------------------------------------------

// Compute nodes keep their order (but for updates); communication takes the place of what it waits for.
static void set_ready(item *items, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    const dp_node *node = items[i].node;
    bool update = dp_op_is(node->op, DP_OP_UPDATE);
    int64_t latest = -1;
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && node->inputs[k]->producer)
        latest = dp_max_i64(latest, items[node->inputs[k]->producer->id].ready);
    items[i].ready = items[i].stream == COMPUTE && !update ? i : latest;
    if (update) items[i].ready += count;  // after everything else
  }
}

static int by_ready(const void *a, const void *b) {
  const item *x = *(item *const *)a, *y = *(item *const *)b;
  if (x->ready != y->ready) return x->ready < y->ready ? -1 : 1;
  return x->node->id < y->node->id ? -1 : x->node->id > y->node->id;
}

// ---- events ---------------------------------------------------------------------------------------------------------

typedef struct {
  dp_graph *graph;
  dp_arena *arena;
  item *items;          // by node id
  int last[N_STREAMS];  // node id of the last on each stream so far, -1
  int32_t **readers;    // by persistent: ids of nodes that read its old version
  int *n_readers;
} walk;

// `after` must not begin before `before` is done.
static void need(walk *w, item *after, const item *before) {
  if (before == after || after->clock[before->stream] >= before->place + 1) return;
  dp_node *from = before->node, *to = after->node;
  if (from->signal < 0) from->signal = w->graph->n_events++;
  DP_PUSH(w->arena, to->waits, to->n_waits, from->signal);
  for (int s = 0; s < N_STREAMS; s++)
    if (before->clock[s] > after->clock[s]) after->clock[s] = before->clock[s];
}

static int latest_first(const void *a, const void *b) {
  const item *x = *(item *const *)a, *y = *(item *const *)b;
  return (x->place < y->place) - (x->place > y->place);
}

static void order_after(walk *w, item *it, int32_t updated) {
  const dp_node *node = it->node;
  const item **before = dp_alloc_n(
      w->arena, (size_t)node->n_inputs + (updated >= 0 ? (size_t)w->n_readers[updated] : 0) + 1, sizeof *before);
  size_t count = 0;
  for (int k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] && node->inputs[k]->producer) before[count++] = &w->items[node->inputs[k]->producer->id];
  for (int k = 0; updated >= 0 && k < w->n_readers[updated]; k++)
    if (w->readers[updated][k] != node->id) before[count++] = &w->items[w->readers[updated][k]];
  // The latest of a stream first: it implies the others.
  qsort(before, count, sizeof *before, latest_first);
  for (size_t k = 0; k < count; k++) need(w, it, before[k]);
}

static void find_readers(walk *w) {
  dp_model *model = w->graph->model;
  w->readers = dp_alloc_n(w->arena, (size_t)model->n_persistents, sizeof *w->readers);
  w->n_readers = dp_alloc_n(w->arena, (size_t)model->n_persistents, sizeof *w->n_readers);
  for (int32_t i = 0; i < w->graph->n_nodes; i++)
    for (int k = 0; k < w->graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = w->graph->nodes[i]->inputs[k];
      if (x && x->kind == DP_VALUE_PERSISTENT)
        DP_PUSH(w->arena, w->readers[x->persistent], w->n_readers[x->persistent], i);
    }
}

// The persistent value that a node's results overwrite, at most one a result.
static void order_node(walk *w, item *it, const int32_t *updated) {
  int before = w->last[it->stream];
  if (before >= 0) memcpy(it->clock, w->items[before].clock, sizeof it->clock);
  order_after(w, it, -1);
  for (int k = 0; k < it->node->n_outputs; k++)
    if (it->node->outputs[k] && updated[it->node->outputs[k]->id] >= 0)
      order_after(w, it, updated[it->node->outputs[k]->id]);
  it->clock[it->stream] = it->place + 1;
  w->last[it->stream] = it->node->id;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

// A topological order that keeps each stream's order: of the streams' next nodes, the one that was ready first and whose
// operands were visited.
static dp_status walk_in_order(walk *w, item **streams[N_STREAMS], const int *lengths, const int32_t *updated,
                               int32_t *order) {
  int at[N_STREAMS] = {0}, done = 0;
  bool *visited = dp_alloc_n(w->arena, (size_t)w->graph->n_nodes + 1, sizeof *visited);
  while (done < w->graph->n_nodes) {
    bool any = false;
    for (int s = N_STREAMS - 1; s >= 0; s--) {  // transfers are cheap to issue and others wait for them
      while (at[s] < lengths[s]) {
        item *it = streams[s][at[s]];
        bool ready = true;
        for (int k = 0; k < it->node->n_inputs; k++)
          ready &= !it->node->inputs[k] || !it->node->inputs[k]->producer || visited[it->node->inputs[k]->producer->id];
        for (int k = 0; k < it->node->n_outputs; k++) {
          int32_t p = it->node->outputs[k] ? updated[it->node->outputs[k]->id] : -1;
          for (int r = 0; p >= 0 && r < w->n_readers[p]; r++)
            ready &= visited[w->readers[p][r]] || w->readers[p][r] == it->node->id;
        }
        if (!ready) break;
        it->place = at[s]++;
        order_node(w, it, updated);
        visited[it->node->id] = true;
        order[done++] = it->node->id;
        any = true;
        if (s == COMPUTE) break;  // let what it made ready go first
      }
    }
    if (!any) return dp_fail(EX_SOFTWARE, "the streams of program '%s' wait for one another", w->graph->name);
  }
  return DP_OK;
}

static void renumber(dp_graph *graph, const int32_t *order) {
  dp_node **nodes = dp_alloc_n(graph->arena, (size_t)graph->n_nodes, sizeof *nodes);
  for (int32_t i = 0; i < graph->n_nodes; i++) nodes[i] = graph->nodes[order[i]];
  dp_graph_reorder(graph, nodes);
}

static dp_status run_graph(dp_graph *graph) {
  dp_arena *arena = graph->arena;
  size_t n = (size_t)graph->n_nodes;
  walk w = {.graph = graph, .arena = arena, .items = dp_alloc_n(arena, n + 1, sizeof *w.items), .last = {-1, -1, -1}};
  item **streams[N_STREAMS];
  int lengths[N_STREAMS] = {0};
  for (int s = 0; s < N_STREAMS; s++) streams[s] = dp_alloc_n(arena, n + 1, sizeof **streams);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    w.items[i].node = graph->nodes[i];
    w.items[i].stream = graph->nodes[i]->stream = stream_of(graph->nodes[i]);
  }
  set_ready(w.items, graph->n_nodes);
  for (int32_t i = 0; i < graph->n_nodes; i++) streams[w.items[i].stream][lengths[w.items[i].stream]++] = &w.items[i];
  for (int s = 0; s < N_STREAMS; s++) qsort(streams[s], (size_t)lengths[s], sizeof **streams, by_ready);
  int32_t *updated = dp_alloc_n(arena, (size_t)graph->n_values + 1, sizeof *updated),
          *order = dp_alloc_n(arena, n + 1, sizeof *order);
  memset(updated, 0xff, ((size_t)graph->n_values + 1) * sizeof *updated);
  for (int i = 0; i < graph->n_updates; i++) updated[graph->updates[i].value->id] = graph->updates[i].persistent;
  find_readers(&w);
  graph->n_streams = N_STREAMS;
  graph->streams = dp_memdup(arena, stream_names, sizeof stream_names);
  DP_TRY(walk_in_order(&w, streams, lengths, updated, order));
  renumber(graph, order);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  for (int i = 0; i < compile->model->n_graphs; i++) DP_TRY(run_graph(compile->model->graphs[i]));
  return DP_OK;
}

const dp_pass dp_pass_streams = {
    .name = "streams",
    .what = "nodes are put on streams, in order, with the events that order needs",
    .needs = DP_HAS_PLACEMENTS,
    .gives = DP_HAS_STREAMS,
    .run = run,
};
