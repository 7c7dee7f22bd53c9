// Sets elements of type T, an unsigned integer, WIDTH neighbours at a time.
#include "backends/cuda/device/fill.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

DP_KERNEL(dp_fill_arguments) {
  LOCAL(vector) v;
  DP_UNROLL
  for (int l = 0; l < WIDTH; l++) v.e[l] = (T)a.element;
  for (dp_i64 i = dp_index() * WIDTH; i < a.count; i += dp_stride() * WIDTH) {
    if (i + WIDTH <= a.count)
      LOCAL(store)((T *)a.to + i, v, a.aligned);
    else
      for (dp_i64 k = i; k < a.count; k++) ((T *)a.to)[k] = (T)a.element;
  }
}
