// Graphs, and launches of them. A launch gives every node a stream of its own, so nothing holds it back but the nodes
// before it.
#include <stdlib.h>

#include "tests/cuda/standin/capture.h"

// A graph, or an executable one.
struct CUgraph_st {
  CUgraph next;
  standin_nodes *nodes;
};
struct CUgraphExec_st {
  CUgraphExec next;
  standin_nodes *nodes;
  standin_marker *done;  // the last launch is; NULL: there was none
};

static CUgraph graphs;
static CUgraphExec executables;

static void *checked(void *memory) {
  if (!memory) abort();
  return memory;
}

CUgraph standin_graph(standin_nodes *nodes) {
  CUgraph graph = checked(malloc(sizeof *graph));
  *graph = (struct CUgraph_st){graphs, nodes};
  graphs = graph;
  standin_counts.graphs++;
  return graph;
}

static CUgraph *find(CUgraph graph) {
  for (CUgraph *link = &graphs; *link; link = &(*link)->next)
    if (*link == graph) return link;
  return NULL;
}

static CUgraphExec *find_executable(CUgraphExec executable) {
  for (CUgraphExec *link = &executables; *link; link = &(*link)->next)
    if (*link == executable) return link;
  return NULL;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!executable || flags || !find(graph)) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  CUgraphExec made = checked(malloc(sizeof *made));
  *made = (struct CUgraphExec_st){executables, graph->nodes, NULL};
  made->nodes->references++;
  executables = made;
  standin_counts.graphs++;
  *executable = made;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph) {
  CUresult result = standin_enter(__func__, STANDIN_CONTEXT);
  CUgraph *link = find(graph);
  if (!link) return standin_leave(result ? result : CUDA_ERROR_INVALID_VALUE);
  *link = graph->next;
  standin_nodes_unref(graph->nodes);
  free(graph);
  standin_counts.graphs--;
  return standin_leave(result);
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  CUresult result = standin_enter(__func__, STANDIN_CONTEXT);
  CUgraphExec *link = find_executable(executable);
  if (!link) return standin_leave(result ? result : CUDA_ERROR_INVALID_VALUE);
  *link = executable->next;
  standin_nodes_unref(executable->nodes);
  standin_unref(executable->done);
  free(executable);
  standin_counts.graphs--;
  return standin_leave(result);
}

// Puts a node on a stream of its own; what marks its end.
static standin_marker *launch_node(const standin_node *node, standin_marker *begin, standin_marker *const *ends) {
  CUstream stream = standin_detached(node->stream);
  if (node->everywhere)
    standin_call_everywhere(node->what);
  else
    standin_call(node->what);
  standin_append(stream, NULL, NULL, NULL, 0, begin);
  for (int i = 0; i < node->n_before; i++) standin_append(stream, NULL, NULL, NULL, 0, ends[node->before[i]]);
  if (node->work) standin_append(stream, node->work, node->context, NULL, node->duration_ns, NULL);
  return standin_mark(stream);
}

static void launch(CUgraphExec executable, CUstream stream) {
  standin_nodes *nodes = executable->nodes;
  standin_marker **ends = checked(calloc((size_t)nodes->n_nodes + 1, sizeof *ends));
  if (executable->done) standin_append(stream, NULL, NULL, NULL, 0, executable->done);
  standin_marker *begin = standin_mark(stream);
  for (int i = 0; i < nodes->n_nodes; i++) ends[i] = launch_node(&nodes->nodes[i], begin, ends);
  for (int i = 0; i < nodes->n_nodes; i++)
    if (nodes->nodes[i].last) standin_append(stream, NULL, NULL, NULL, 0, ends[i]);
  nodes->references++;
  standin_append(stream, NULL, nodes, standin_nodes_unref, 0, NULL);
  standin_unref(executable->done);
  executable->done = standin_mark(stream);
  for (int i = 0; i < nodes->n_nodes; i++) standin_unref(ends[i]);
  standin_unref(begin);
  free(ends);
  standin_run_eagerly();
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!find_executable(executable)) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!standin_is_stream(stream) || standin_device_of(stream) != standin_current)
    return standin_leave(STANDIN_INVALID_HANDLE);
  // The driver would make a child graph of it.
  if (standin_captured(stream)) return standin_leave(standin_capture_refuse(stream, STANDIN_NOT_SUPPORTED));
  CUresult result = standin_capture_implicit(stream);
  if (!result) launch(executable, stream);
  return standin_leave(result);
}
