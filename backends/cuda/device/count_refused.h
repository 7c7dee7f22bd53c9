// How much data a node would refuse (ir/graph/refusal.h).
#ifndef DP_BACKENDS_CUDA_DEVICE_COUNT_REFUSED_H
#define DP_BACKENDS_CUDA_DEVICE_COUNT_REFUSED_H

#include "backends/cuda/device/report.h"

// Taken are 0 .. scale * n + offset - 1, with `negative` the same below 0, and `other`; not bounded: all but 0.
typedef struct {
  long long count;
  int bounded, negative, has_other;
  long long scale, offset, other;
  const long long *n;  // NULL: the limit does not depend on it
  dp_cuda_reporter reporter;
  const void *x;
  long long *y;
} dp_count_refused_arguments;

#endif
