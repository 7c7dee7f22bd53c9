// The exponentials of rows that several blocks share: the launch before those of softmax and the cross entropy.
#ifndef DP_BACKENDS_CUDA_KERNELS_EXPONENTIALS_H
#define DP_BACKENDS_CUDA_KERNELS_EXPONENTIALS_H

#include "backends/cuda/device/rows.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// The function, for rows of that type.
dp_status dp_cuda_exponentials_add(dp_dtype dtype, const dp_cuda_function **function) DP_MUST_USE;

// Rows run along the middle dim of x (outer, length, inner). parts (outer * inner, shares)
dp_status dp_cuda_exponentials(dp_queue *queue, const dp_cuda_function *function, int64_t outer, int64_t length,
                               int64_t inner, int64_t shares, const void *x, dp_exponentials *parts) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
