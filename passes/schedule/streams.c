// streams: assigns each program's nodes to streams, in order, with the events that the order needs.
//
// A device has three streams: "compute", "comm" (every collective, in one order), "copy" (from and to the host); in a
// pipeline also "send" and "recv", to and from other stages. If the target gets its inputs ahead, what comes from the
// host is on a stream of its own, "upload", which waits for nothing, and goes to memory of its own. The order is
// issue_order.c's, except in a pipeline, where it is the graph's: what one stage sends and another receives must have
// the same order on both. A node waits for an event where it takes a result of another stream, overwrites a variable
// that a node of another stream reads, or already waited for an event, unless its stream or another of its waits
// implies it.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/schedule/issue_order.h"

static const char *const stream_names[DP_STREAMS] = {"compute", "comm", "copy", "send", "recv", "upload"};

// Happens-before, as known while nodes are visited in order.
typedef struct {
  int32_t *position;             // (nodes) position in the node's stream
  int32_t (*clock)[DP_STREAMS];  // (nodes) how many nodes of each stream are done when the node is, including itself
  const dp_node *last[DP_STREAMS];
} progress;

static void order_after(int32_t clock[DP_STREAMS], const int32_t before[DP_STREAMS]) {
  for (int s = 0; s < DP_STREAMS; s++)
    if (before[s] > clock[s]) clock[s] = before[s];
}

// Sets the node's waits; latest: by stream, the last node that this one must follow, or NULL.
static void wait_for(dp_graph *graph, progress *p, dp_node *node, dp_node *latest[DP_STREAMS]) {
  int32_t *clock = p->clock[node->id];
  for (int s = 0; s < DP_STREAMS; s++) {
    if (latest[s] && clock[s] > p->position[latest[s]->id]) latest[s] = NULL;
    for (int other = 0; other < DP_STREAMS && latest[s]; other++)
      if (other != s && latest[other] && p->clock[latest[other]->id][s] > p->position[latest[s]->id]) latest[s] = NULL;
  }
  for (int s = 0; s < DP_STREAMS; s++) {
    if (!latest[s]) continue;
    if (latest[s]->signal < 0) latest[s]->signal = graph->n_events++;
    DP_PUSH(graph->arena, node->waits, node->n_waits, latest[s]->signal);
    order_after(clock, p->clock[latest[s]->id]);
  }
}

// Nodes keep their ids here: the graph is reordered afterwards.
static void set_events(dp_graph *graph, dp_arena *scratch, dp_node *const *order, const dp_issue_order_edges *edges) {
  progress p = {.position = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *p.position),
                .clock = dp_alloc_n(scratch, (size_t)graph->n_nodes + 1, sizeof *p.clock)};
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = order[i], *latest[DP_STREAMS] = {0};
    const dp_node *previous = p.last[node->stream];
    p.position[node->id] = previous ? p.position[previous->id] + 1 : 0;
    if (previous) order_after(p.clock[node->id], p.clock[previous->id]);
    for (int32_t e = edges->first[node->id]; e < edges->first[node->id + 1]; e++) {
      dp_node *before = graph->nodes[edges->before[e]], **last = &latest[before->stream];
      if (before->stream != node->stream && (!*last || p.position[(*last)->id] < p.position[before->id]))
        *last = before;
    }
    wait_for(graph, &p, node, latest);
    p.clock[node->id][node->stream] = p.position[node->id] + 1;
    p.last[node->stream] = node;
  }
}

// Puts what comes from the host on the stream for uploads. Whether there is any.
static bool find_uploads(dp_graph *graph) {
  bool any = false;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    if (node->kernel || !node->n_inputs || !node->inputs[0] || node->inputs[0]->space != DP_SPACE_HOST_INPUT) continue;
    node->stream = DP_STREAM_UPLOAD;
    node->outputs[0]->space = DP_SPACE_DEVICE_INPUT;
    node->n_waits = 0;
    any = true;
  }
  return any;
}

// Numbers the stream for uploads after those that the graph has besides.
static void name_streams(dp_graph *graph, bool uploads) {
  const int others = graph->stage >= 0 ? DP_STREAM_UPLOAD : DP_STREAM_SEND;
  const char **names = dp_memdup(graph->arena, stream_names, sizeof stream_names);
  names[others] = stream_names[DP_STREAM_UPLOAD];
  graph->streams = names;
  graph->n_streams = others + uploads;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (graph->nodes[i]->stream == DP_STREAM_UPLOAD) graph->nodes[i]->stream = others;
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  const dp_options *options = compile->options;
  for (int32_t i = 0; i < graph->n_nodes; i++) graph->nodes[i]->stream = dp_cost_model_stream(graph->nodes[i]);
  bool pipelined = graph->stage >= 0, uploads = (options->uploads || options->target->uploads) && find_uploads(graph);
  dp_issue_order_edges edges = dp_issue_order_edges_make(scratch, graph);
  dp_node **order = options->keeps_graph_order || pipelined
                        ? dp_issue_order_none(scratch, graph, &edges)
                        : dp_issue_order_make(scratch, &options->target->costs, graph, &edges);
  graph->n_events = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    graph->nodes[i]->signal = -1;
    graph->nodes[i]->n_waits = 0;
    graph->nodes[i]->waits = NULL;
  }
  set_events(graph, scratch, order, &edges);
  name_streams(graph, uploads);
  dp_graph_reorder(graph, order);
  return DP_OK;
}

static dp_status run(dp_compile *compile) { return dp_pass_each_graph(compile, run_graph); }

const dp_pass dp_pass_streams = {
    .name = "streams",
    .what = "assigns nodes to streams, in order, with the events that the order needs",
    .needs = DP_HAS_ROLES,
    .gives = DP_HAS_STREAMS,
    .run = run,
};
