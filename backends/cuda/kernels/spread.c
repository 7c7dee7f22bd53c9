// Filling with a bias. See spread.h.
#include "backends/cuda/kernels/spread.h"

#include "backends/cuda/device/sources.h"

dp_status dp_cuda_spread_add(dp_dtype dtype, const dp_cuda_function **function) {
  return dtype == DP_FLOAT64
             ? dp_cuda_function_add("spread_float64", "#define T double\n", dp_cuda_source_spread, function)
             : dp_cuda_function_add("spread_float32", "#define T float\n", dp_cuda_source_spread, function);
}

dp_status dp_cuda_spread(dp_queue *queue, const dp_cuda_function *function, const dp_spread_arguments *arguments) {
  return dp_cuda_launch(queue, function, dp_cuda_blocks(arguments->count), DP_CUDA_THREADS, arguments,
                        sizeof *arguments);
}
