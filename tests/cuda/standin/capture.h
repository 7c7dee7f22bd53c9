// What is captured from streams, instead of being run: nodes of a graph.
#ifndef DP_TESTS_CUDA_STANDIN_CAPTURE_H
#define DP_TESTS_CUDA_STANDIN_CAPTURE_H

#include "tests/cuda/standin/state.h"

typedef struct {
  CUstream stream;              // that it was captured from
  const char *what;             // as dp_standin_slices tells it
  bool everywhere;              // it reaches all devices
  void (*work)(void *context);  // NULL: a point where others meet
  void *context;
  void (*release)(void *context);
  double duration_ns;
  int n_before;
  int *before;  // nodes that must be done before; all have smaller numbers
  bool last;    // none comes after it
} standin_node;

// The nodes of a graph. Counted references: of the graph, of what was instantiated of it, and of launches.
typedef struct {
  int references;
  int n_nodes;
  standin_node *nodes;
} standin_nodes;

void standin_nodes_unref(void *nodes);  // NULL is allowed
// Makes a graph of them, which takes over the reference.
CUgraph standin_graph(standin_nodes *nodes);

#endif
