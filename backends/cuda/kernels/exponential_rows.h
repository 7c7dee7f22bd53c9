// Rows whose exponentials are summed in registers: softmax, the cross entropy, ReduceLogSumExp of contiguous rows.
#ifndef DP_BACKENDS_CUDA_KERNELS_EXPONENTIAL_ROWS_H
#define DP_BACKENDS_CUDA_KERNELS_EXPONENTIAL_ROWS_H

#include "backends/cuda/device/exponential_rows.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether rows are gone through in this way: elements are computed with in float32, and no row is worth several blocks.
bool dp_cuda_exponential_rows_fit(dp_dtype dtype, int64_t rows, int64_t length);

// The function for such rows. made: DP_ROWS_...; defines: of LABEL, where it is the cross entropy or its gradient.
dp_status dp_cuda_exponential_rows_add(const char *name, dp_dtype dtype, int64_t length, int made, const char *defines,
                                       const dp_cuda_function **function) DP_MUST_USE;

// Launches it. a->aligned is set here.
dp_status dp_cuda_exponential_rows(dp_queue *queue, const dp_cuda_function *function,
                                   dp_exponential_rows_arguments *a) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
