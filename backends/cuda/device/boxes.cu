// Copies boxes of elements of type T to all their targets, or combines what several sources hold, in their order:
// COMBINE(sum, next). WIDTH neighbours are moved at once; INDEX is an unsigned type that holds the units of a box. All
// targets are disjoint.
#include "backends/cuda/device/boxes.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

// The box of a chunk.
DP_DEVICE const dp_cuda_box *LOCAL(box_of)(const dp_cuda_boxes *a, dp_i64 chunk) {
  dp_i64 lo = 0, hi = a->count - 1;
  while (lo < hi) {
    const dp_i64 middle = (lo + hi + 1) / 2;
    if (a->boxes[middle].before <= chunk)
      lo = middle;
    else
      hi = middle - 1;
  }
  return &a->boxes[lo];
}

// Where a unit is on both sides, in elements. Most boxes are runs, which need no division.
DP_DEVICE void LOCAL(find)(const dp_cuda_box *box, dp_i64 unit, dp_i64 *target, dp_i64 *source) {
  INDEX rest = (INDEX)unit;
  *target = *source = 0;
  for (int d = box->rank - 1; d > 0; d--) {
    const dp_i64 at = (dp_i64)(rest % (INDEX)box->extents[d]);
    rest /= (INDEX)box->extents[d];
    *target += at * box->target_strides[d];
    *source += at * box->source_strides[d];
  }
  *target += (dp_i64)rest * box->target_strides[0];
  *source += (dp_i64)rest * box->source_strides[0];
}

DP_DEVICE LOCAL(vector) LOCAL(combine)(LOCAL(vector) sum, LOCAL(vector) next) {
  DP_UNROLL
  for (int l = 0; l < WIDTH; l++) sum.e[l] = COMBINE(sum.e[l], next.e[l]);
  return sum;
}

DP_KERNEL(dp_cuda_boxes) {
  const int lane = (int)(dp_index() % DP_WARP);
  for (dp_i64 chunk = dp_index() / DP_WARP; chunk < a.chunks; chunk += dp_stride() / DP_WARP) {
    const dp_cuda_box *box = LOCAL(box_of)(&a, chunk);
    const dp_i64 first = (chunk - box->before) * DP_CUDA_BOX_CHUNK + lane, units = box->units;
    const long long *apart = a.apart + box->row * a.sources, *spread = a.spread + box->row * a.targets;
    const char *from[DP_CUDA_BOX_LOADS];
    char *to[DP_CUDA_BOX_LOADS];
    LOCAL(vector) sums[DP_CUDA_BOX_LOADS];
    DP_UNROLL
    for (int j = 0; j < DP_CUDA_BOX_LOADS; j++) {
      const dp_i64 unit = first + j * DP_WARP;
      dp_i64 target, source;
      if (unit >= units) continue;
      LOCAL(find)(box, unit, &target, &source);
      to[j] = (char *)((T *)box->target + target);
      from[j] = (const char *)((const T *)(box->source + a.source_distance) + source);
      sums[j] = LOCAL(load)((const T *)(a.adds ? to[j] : from[j]), 1);
    }
    for (dp_i64 s = !a.adds; s < a.sources; s++) {
      const dp_i64 distance = apart[s];
      DP_UNROLL
      for (int j = 0; j < DP_CUDA_BOX_LOADS; j++)
        if (first + j * DP_WARP < units)
          sums[j] = LOCAL(combine)(sums[j], LOCAL(load)((const T *)(from[j] + distance), 1));
    }
    for (dp_i64 t = 0; t < a.targets; t++) {
      const dp_i64 distance = spread[t];
      DP_UNROLL
      for (int j = 0; j < DP_CUDA_BOX_LOADS; j++)
        if (first + j * DP_WARP < units) LOCAL(store)((T *)(to[j] + distance), sums[j], 1);
    }
  }
}
