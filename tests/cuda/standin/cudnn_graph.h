// Inside the stand-in of cuDNN: graphs of several operations, as they are read from their descriptors. They are what
// the fused engines of attention take: products, pointwise operations, reductions and exchanges of the last two dims,
// over tensors of four dims.
#ifndef DP_TESTS_CUDA_STANDIN_CUDNN_GRAPH_H
#define DP_TESTS_CUDA_STANDIN_CUDNN_GRAPH_H

#include "tests/cuda/standin/cudnn_private.h"

enum { STANDIN_MOST_OPERATIONS = 32, STANDIN_MOST_TENSORS = 96 };
enum { STANDIN_CUDNN_UNORDERED = 203 };  // an engine whose sums begin elsewhere in every run

typedef struct {
  int64_t id, extents[4], strides[4], alignment;
  int type;  // CUDNN_DATA_...
  bool is_virtual, by_value, made;
  void *data;      // in the device's memory, or a number of the host's
  float *numbers;  // its elements, dense, in order of the dims
  float number;    // by value
} graph_tensor;

typedef struct {
  int type, mode;  // CUDNN_BACKEND_OPERATION_...; of a pointwise operation or a reduction
  int axis;        // of GEN_INDEX
  int x, y, t, z;  // places among the tensors; y, t: -1 if there is none; t: what selects between x and y
} graph_operation;

typedef struct {
  int n_tensors, n_operations;
  graph_tensor tensors[STANDIN_MOST_TENSORS];
  graph_operation operations[STANDIN_MOST_OPERATIONS];
  int engine;
  void *workspace;
  int64_t workspace_bytes;
} graph;

// Whether an operation is one of such graphs.
bool standin_cudnn_is_of_graph(const descriptor *operation);
// Checks an operation alone.
cudnnStatus_t standin_cudnn_check_operation(const descriptor *operation);
// Reads a finalised graph's descriptor. CUDNN_STATUS_BAD_PARAM: operations do not fit together.
cudnnStatus_t standin_cudnn_read_graph(const descriptor *of, graph *g);
// The engines that a mode names, and the one of a number; NULL: it is none of these.
int standin_cudnn_graph_engines(int mode, const engine **engines);
const engine *standin_cudnn_graph_engine(int number);
// The workspace of an engine; -1: it does not take the graph.
int64_t standin_cudnn_graph_workspace(const graph *g);
// Room for all elements. False: no memory.
bool standin_cudnn_graph_prepare(graph *g);
void standin_cudnn_graph_run(void *g);
void standin_cudnn_graph_free(void *g);
// On a GPU: at 400 TFLOP/s.
double standin_cudnn_graph_ns(const graph *g, const engine *e);

#endif
