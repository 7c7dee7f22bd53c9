// How much data a node would refuse (ir/graph/refusal.h).
#ifndef DP_BACKENDS_CUDA_DEVICE_COUNT_REFUSED_H
#define DP_BACKENDS_CUDA_DEVICE_COUNT_REFUSED_H

#include "backends/cuda/device/report.h"

// Taken are 0 .. scale * n + offset - 1, with `negative` the same below 0, and `other`; not bounded: all but 0.
typedef struct {
  long long count;
  long long aligned;  // whether x can be read by vectors
  int bounded, negative, has_other;
  int once;  // only for this run
  long long scale, offset, other;
  const long long *n;  // NULL: the limit does not depend on it
  dp_cuda_reporter reporter;
  const void *x;
  long long shares;  // of x, one for each block
  long long *parts;  // (shares); NULL: a block has all of x
  long long *y;
} dp_count_refused_arguments;

// Where all are counted. What a run that is not yet over has refused counts too: the host has not seen it, and may have
// issued this run already. Not so what counts once.
DP_DEVICE void dp_count_refused_end(const dp_count_refused_arguments *a, dp_i64 refused) {
  *a->y = refused + (!a->once && a->reporter.fault->refused != 0);
  if (!a->once && refused > 0) a->reporter.fault->refused = 1;
}

#endif
