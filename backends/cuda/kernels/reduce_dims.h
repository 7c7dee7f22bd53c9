// The dims of a tensor that a reduction keeps, and those that it reduces.
#ifndef DP_BACKENDS_CUDA_KERNELS_REDUCE_DIMS_H
#define DP_BACKENDS_CUDA_KERNELS_REDUCE_DIMS_H

#include "backends/cuda/device/reduce.h"
#include "ir/ops/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

// Neighbouring dims of one kind are merged. Each kind has at least one dim, if only of one element.
void dp_cuda_reduce_dims(const dp_local *x, const bool is_reduced[DP_MAX_RANK], dp_reduce_dims *kept,
                         dp_reduce_dims *reduced);

#ifdef __cplusplus
}
#endif
#endif
