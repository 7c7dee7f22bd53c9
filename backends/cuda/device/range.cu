// start, start + delta, ... as type T, by the elements' positions in the whole tensor, WIDTH neighbours at a time.
// STORE makes an element of a number: integers wrap; floats are rounded once.
#include "backends/cuda/device/range.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

DP_DEVICE T LOCAL(made)(const dp_range_arguments *a, dp_i64 i) {
  return STORE((dp_i64)(a->start + (dp_u64)dp_place_of(&a->place, i) * a->delta));
}

DP_KERNEL(dp_range_arguments) {
  for (dp_i64 i = dp_index() * WIDTH; i < a.count; i += dp_stride() * WIDTH) {
    LOCAL(vector) v;
    if (i + WIDTH > a.count) {
      for (dp_i64 k = i; k < a.count; k++) ((T *)a.y)[k] = LOCAL(made)(&a, k);
      continue;
    }
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) v.e[l] = LOCAL(made)(&a, i + l);
    LOCAL(store)((T *)a.y + i, v, a.aligned);
  }
}
