// Gather and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_GATHER_H
#define DP_BACKENDS_CUDA_DEVICE_GATHER_H

#include "backends/cuda/device/report.h"

// data (outer, here, inner), of which the whole dim has `whole` elements; gathered (outer, count, inner).
typedef struct {
  long long outer, here, inner, count, whole;
  long long unit, k, lo, mine;  // where the shard's elements are along the dim: dp_local
  dp_cuda_reporter reporter;
  const void *indices;
  const void *x;
  void *y;
} dp_gather_arguments;

// The index in the shard of index i along the whole dim; -1: another device has it.
DP_DEVICE dp_i64 dp_gather_here(const dp_gather_arguments *a, dp_i64 i) {
  const dp_i64 u = i % a->unit, k = i / a->unit % a->k - a->lo, o = i / a->unit / a->k;
  return k < 0 || k >= a->mine ? -1 : (o * a->mine + k) * a->unit + u;
}

// The index in the shard that indices[at] = `index` names; -1: another device has it, or there is none such.
DP_DEVICE dp_i64 dp_gather_index(const dp_gather_arguments *a, dp_i64 index, dp_i64 at) {
  if (index < -a->whole || index >= a->whole) {
    dp_report(a->reporter, DP_FAULT_INDEX, at, index, a->whole);
    return -1;
  }
  return dp_gather_here(a, index < 0 ? index + a->whole : index);
}

#endif
