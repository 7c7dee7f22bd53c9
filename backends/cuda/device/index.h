// Indices along a dim of the whole tensor, of which this device may have a shard.
#ifndef DP_BACKENDS_CUDA_DEVICE_INDEX_H
#define DP_BACKENDS_CUDA_DEVICE_INDEX_H

#include "backends/cuda/device/report.h"

typedef struct {
  long long whole;              // elements along the whole dim
  long long unit, k, lo, mine;  // which of them the shard has: dp_local; mine: hi - lo
  dp_cuda_reporter reporter;
} dp_index_dim;

// The index in the shard of what indices[at] = `index` names; -1: another device has it, or there is none such, which
// is reported. Negative indices count from the end.
DP_DEVICE dp_i64 dp_index_here(const dp_index_dim *dim, dp_i64 index, dp_i64 at) {
  if (index < -dim->whole || index >= dim->whole) {
    dp_report(dim->reporter, DP_FAULT_INDEX, at, index, dim->whole);
    return -1;
  }
  const dp_i64 i = index < 0 ? index + dim->whole : index;
  if (dim->mine == dim->k) return i;  // no division where all are here
  const dp_i64 u = i % dim->unit, k = i / dim->unit % dim->k - dim->lo, o = i / dim->unit / dim->k;
  return k < 0 || k >= dim->mine ? -1 : (o * dim->mine + k) * dim->unit + u;
}

#endif
