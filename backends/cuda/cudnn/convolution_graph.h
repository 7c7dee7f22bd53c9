// Graphs of convolutions and their gradients, and of what follows a convolution. Private to the folder.
#ifndef DP_BACKENDS_CUDA_CUDNN_CONVOLUTION_GRAPH_H
#define DP_BACKENDS_CUDA_CUDNN_CONVOLUTION_GRAPH_H

#include "backends/cuda/cudnn/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of tensors in graph and variant pack.
enum { DP_CUDNN_X = 1, DP_CUDNN_W, DP_CUDNN_Y, DP_CUDNN_BIAS, DP_CUDNN_RESIDUAL };

// Adds descriptors of a graph to the plan; handle NULL: there is none. What follows a convolution is computed in
// float32 before its result is rounded and stored.
cudnnStatus_t dp_cudnn_convolution_graph(dp_cudnn_plan *plan, cudnnHandle_t handle, const dp_cudnn_spec *spec,
                                         cudnnBackendDescriptor_t *graph);

#ifdef __cplusplus
}
#endif
#endif
