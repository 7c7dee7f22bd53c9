// What functions that look up indices are told.
#ifndef DP_BACKENDS_CUDA_KERNELS_INDEX_H
#define DP_BACKENDS_CUDA_KERNELS_INDEX_H

#include "backends/cuda/device/index.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Dim d of the tensor that indices count in. Indices out of range are reported for the instruction at hand.
dp_index_dim dp_cuda_index_dim(const dp_local *local, int d, const dp_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
