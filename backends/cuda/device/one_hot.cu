// One of two values of type T for each element: the second at the index of type I, the first elsewhere. SIGNED: 1 if
// indices may be negative, which counts from the end. An index out of range names no element. INDEX is an unsigned type
// that holds the count.
//
// A thread has WIDTH neighbours: it divides once and counts on from there.
#include "backends/cuda/device/one_hot.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

// The place along the depth that indices[at] names.
DP_DEVICE dp_u64 LOCAL(named)(const dp_one_hot_arguments *a, INDEX at) {
  const dp_u64 index = (dp_u64)((const I *)a->indices)[at];
  return SIGNED && (dp_i64)index < 0 ? index + (dp_u64)a->depth : index;
}

DP_KERNEL(dp_one_hot_arguments) {
  const T cold = ((const T *)a.values)[0], hot = ((const T *)a.values)[1];
  for (dp_i64 i = dp_index() * WIDTH; i < a.count; i += dp_stride() * WIDTH) {
    const INDEX row = (INDEX)i / (INDEX)a.inner;
    INDEX outer = row / (INDEX)a.depth, place = row - outer * (INDEX)a.depth, inner = (INDEX)i - row * (INDEX)a.inner;
    dp_u64 named = LOCAL(named)(&a, outer * (INDEX)a.inner + inner);
    const int mine = i + WIDTH <= a.count ? WIDTH : (int)(a.count - i);
    LOCAL(vector) v;
    DP_UNROLL
    for (int l = 0; l < WIDTH; l++) {
      v.e[l] = named == (dp_u64)place ? hot : cold;
      bool other = a.inner > 1;  // whether the next element has another index
      if (++inner == (INDEX)a.inner) {
        inner = 0;
        if (++place == (INDEX)a.depth) {
          place = 0;
          outer++;
          other = true;
        }
      }
      if (other && l + 1 < mine) named = LOCAL(named)(&a, outer * (INDEX)a.inner + inner);
    }
    if (mine == WIDTH) {
      LOCAL(store)((T *)a.y + i, v, a.aligned);
    } else {
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++)
        if (l < mine) ((T *)a.y)[i + l] = v.e[l];
    }
  }
}
