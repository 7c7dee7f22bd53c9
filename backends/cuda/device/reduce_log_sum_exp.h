// ReduceLogSumExp, and its first launch alone, for softmax and the cross entropy of few long rows.
#ifndef DP_BACKENDS_CUDA_DEVICE_REDUCE_LOG_SUM_EXP_H
#define DP_BACKENDS_CUDA_DEVICE_REDUCE_LOG_SUM_EXP_H

#include "backends/cuda/device/reduce.h"
#include "backends/cuda/device/rows.h"

typedef struct {
  dp_reduce_dims kept, reduced;  // each has at least one dim
  long long shares;              // of a result
  dp_exponentials *parts;        // (results, shares); NULL: a block has a result
  const void *x;
  void *y;
} dp_log_sum_exp_arguments;

#endif
