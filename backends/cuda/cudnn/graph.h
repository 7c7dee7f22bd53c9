// Builds graphs of several operations, which compute in float32 where nothing else is said. The first failure stands;
// calls after it do nothing. What is made belongs to the graph's plan. Private to the folder.
#ifndef DP_BACKENDS_CUDA_CUDNN_GRAPH_H
#define DP_BACKENDS_CUDA_CUDNN_GRAPH_H

#include "backends/cuda/cudnn/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CUDNN_MOST_OPERATIONS = 32 };

typedef struct {
  dp_cudnn_plan *plan;
  cudnnStatus_t status;
  int64_t next;  // the number of the next tensor that has none
  int n_operations;
  cudnnBackendDescriptor_t operations[DP_CUDNN_MOST_OPERATIONS];
} dp_cudnn_graph;

// A tensor of four dims. id 0: a virtual one, which no memory outside the engine holds; it gets a number of its own.
cudnnBackendDescriptor_t dp_cudnn_graph_tensor(dp_cudnn_graph *graph, int64_t id, cudnnDataType_t type,
                                               const int64_t *extents, const int64_t *strides);
// A float32, or an int32, whose address is in the host's memory.
cudnnBackendDescriptor_t dp_cudnn_graph_number(dp_cudnn_graph *graph, int64_t id);
cudnnBackendDescriptor_t dp_cudnn_graph_integer(dp_cudnn_graph *graph, int64_t id);

// z = x y, matrices along the last two dims. Where y has fewer heads, each serves several adjacent ones of x.
void dp_cudnn_graph_product(dp_cudnn_graph *graph, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                            cudnnBackendDescriptor_t z);
// z = x mode y, broadcast; y NULL: mode of x.
void dp_cudnn_graph_pointwise(dp_cudnn_graph *graph, int mode, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y,
                              cudnnBackendDescriptor_t z);
// The same, computed in another type.
void dp_cudnn_graph_pointwise_in(dp_cudnn_graph *graph, cudnnDataType_t type, int mode, cudnnBackendDescriptor_t x,
                                 cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t z);
// z: the place of each of x's elements along a dim, int32.
void dp_cudnn_graph_places(dp_cudnn_graph *graph, int64_t dim, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t z);
// z = x where `which`, a boolean tensor, is true, else y.
void dp_cudnn_graph_select(dp_cudnn_graph *graph, cudnnBackendDescriptor_t which, cudnnBackendDescriptor_t x,
                           cudnnBackendDescriptor_t y, cudnnBackendDescriptor_t z);
// z: the sums or maxima of x over dims that are shorter in z: of all, or of as many neighbours as the extents say.
void dp_cudnn_graph_reduce(dp_cudnn_graph *graph, int reduction, cudnnBackendDescriptor_t x,
                           cudnnBackendDescriptor_t z);
// z: x in the same order in memory, with other extents and strides.
void dp_cudnn_graph_reshape(dp_cudnn_graph *graph, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t z);

// The finalised graph; NULL if a call has failed. handle NULL: for a device that is described.
cudnnBackendDescriptor_t dp_cudnn_graph_end(dp_cudnn_graph *graph, cudnnHandle_t handle);

#ifdef __cplusplus
}
#endif
#endif
