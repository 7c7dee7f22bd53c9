// BatchNormalization and its gradient, on a tensor (N, C, ...) seen as samples x channels x inner elements. It has one
// type, parameters and statistics have another, or the same.
#ifndef DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_REFERENCE_BATCH_NORMALIZATION_H

#include "backends/base/batch_extents.h"
#include "backends/cpu/reference/reference.h"

// One number of a channel's, in float32 or float64.
static inline double dp_of_channel(dp_dtype dtype, const void *numbers, int64_t at) {
  return dtype == DP_FLOAT32 ? (double)((const float *)numbers)[at] : ((const double *)numbers)[at];
}
// NULL: nowhere.
static inline void dp_of_channel_set(dp_dtype dtype, void *numbers, int64_t at, double number) {
  if (!numbers) return;
  if (dtype == DP_FLOAT32)
    ((float *)numbers)[at] = (float)number;
  else
    ((double *)numbers)[at] = number;
}

// The inputs and outputs of one computation; NULL: not given or not wanted.
typedef struct {
  bool training;                // use the statistics of each group; else mean and variance
  bool unbiased;                // the kept variance is unbiased
  double epsilon, momentum;     // momentum: of the running buffers
  const void *mean, *variance;  // the old running buffers
  void *running_mean, *running_variance;
  void *saved_mean, *saved_invstd;    // of each group, for the gradient
  void *first_mean, *first_variance;  // of the group with the first sample; 0 on other devices
} dp_batch_normalization;

// Normalises operand 0 with scale and bias, operands 1 and 2, into result 0.
dp_status dp_batch_normalization_run(const dp_call *call, const dp_sample_groups *groups,
                                     const dp_batch_normalization *b);

// The `run` of the gradients, which use the statistics of each group.
dp_status dp_batch_normalization_grad(const dp_call *call, const dp_sample_groups *groups);

#endif
