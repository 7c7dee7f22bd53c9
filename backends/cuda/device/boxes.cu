// Copies boxes of elements of type T, or combines them with what the targets hold: COMBINE(t, s). The boxes' targets
// are disjoint.
#include "backends/cuda/device/boxes.h"
#include "backends/cuda/device/prelude.h"

DP_KERNEL(dp_cuda_boxes) {
  for (dp_i64 i = dp_index(); i < a.elements; i += dp_stride()) {
    dp_i64 lo = 0, hi = a.count - 1;
    while (lo < hi) {
      dp_i64 middle = (lo + hi + 1) / 2;
      if (a.boxes[middle].before <= i)
        lo = middle;
      else
        hi = middle - 1;
    }
    const dp_cuda_box *box = &a.boxes[lo];
    dp_i64 rest = i - box->before, target = 0, source = 0;
    for (int d = box->rank - 1; d > 0; d--) {
      dp_i64 k = rest % box->extents[d];
      rest /= box->extents[d];
      target += k * box->target_strides[d];
      source += k * box->source_strides[d];
    }
    if (box->rank) {  // most boxes are runs, which need no division
      target += rest * box->target_strides[0];
      source += rest * box->source_strides[0];
    }
    T *to = (T *)box->target + target;
    const T from = ((const T *)(box->source + a.source_distance))[source];
    *to = COMBINE(*to, from);
  }
}
