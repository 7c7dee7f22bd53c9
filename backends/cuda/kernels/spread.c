// Filling with a bias. See spread.h.
#include "backends/cuda/kernels/spread.h"

#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/types.h"

dp_status dp_cuda_spread_add(dp_dtype dtype, const dp_cuda_function **function) {
  char name[64];
  snprintf(name, sizeof name, "spread_%s", dp_type_name(dtype));
  return dp_cuda_function_add(name, dp_cuda_type_of(dtype)->defines, dp_cuda_source_spread, function);
}

dp_status dp_cuda_spread(dp_queue *queue, const dp_cuda_function *function, const dp_spread_arguments *arguments) {
  return dp_cuda_launch(queue, function, dp_cuda_blocks(arguments->count), DP_CUDA_THREADS, arguments,
                        sizeof *arguments);
}
