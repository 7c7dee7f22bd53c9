// ReduceLogSumExp.
#ifndef DP_BACKENDS_CUDA_DEVICE_REDUCE_LOG_SUM_EXP_H
#define DP_BACKENDS_CUDA_DEVICE_REDUCE_LOG_SUM_EXP_H

#include "backends/cuda/device/reduce.h"

typedef struct {
  dp_reduce_dims kept, reduced;  // each has at least one dim
  const void *x;
  void *y;
} dp_log_sum_exp_arguments;

#endif
