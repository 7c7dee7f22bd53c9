// Sets all elements of a tensor.
#ifndef DP_BACKENDS_CUDA_KERNELS_FILL_H
#define DP_BACKENDS_CUDA_KERNELS_FILL_H

#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

dp_status dp_cuda_fill_add(dp_dtype dtype, const dp_cuda_function **function) DP_MUST_USE;
// element: as it is in memory, of a type as long as dp_cuda_fill_add's.
dp_status dp_cuda_fill(dp_queue *queue, const dp_cuda_function *function, void *to, int64_t count,
                       uint64_t element) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
