// Where a shard's elements are in the whole tensor: dp_local, as the device knows it. Dims come in the order in which
// the shard's elements lie.
#ifndef DP_BACKENDS_CUDA_DEVICE_PLACE_H
#define DP_BACKENDS_CUDA_DEVICE_PLACE_H

#include "backends/cuda/device/prelude.h"

enum { DP_PLACE_RANK = 8 };  // the most dims

typedef struct {
  long long rank;  // 0: the shard is the whole tensor, and plain
  long long extents[DP_PLACE_RANK];
  long long strides[DP_PLACE_RANK];  // of the whole tensor, row-major
  long long unit[DP_PLACE_RANK], k[DP_PLACE_RANK], lo[DP_PLACE_RANK], mine[DP_PLACE_RANK];  // mine: hi - lo
} dp_place;

// The index in the whole tensor of index i along dim d of the shard.
DP_DEVICE dp_i64 dp_place_along(const dp_place *p, int d, dp_i64 i) {
  const dp_i64 u = i % p->unit[d], mine = i / p->unit[d] % p->mine[d], outer = i / p->unit[d] / p->mine[d];
  return (outer * p->k[d] + p->lo[d] + mine) * p->unit[d] + u;
}

// The row-major index in the whole tensor of element i of the shard.
DP_DEVICE dp_i64 dp_place_of(const dp_place *p, dp_i64 i) {
  dp_i64 index = 0;
  if (!p->rank) return i;
  for (int d = (int)p->rank - 1; d >= 0; d--) {
    index += dp_place_along(p, d, i % p->extents[d]) * p->strides[d];
    i /= p->extents[d];
  }
  return index;
}

#endif
