// Fills a result with a bias that is broadcast, or with zeros, or adds the bias: what libraries do not do themselves,
// and the whole result where there is nothing to sum.
#ifndef DP_BACKENDS_CUDA_SPREAD_H
#define DP_BACKENDS_CUDA_SPREAD_H

#include "backends/cuda/device/spread.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// dtype: a float.
dp_status dp_cuda_spread_add(dp_dtype dtype, const dp_cuda_function **function) DP_MUST_USE;
dp_status dp_cuda_spread(dp_queue *queue, const dp_cuda_function *function,
                         const dp_spread_arguments *arguments) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
