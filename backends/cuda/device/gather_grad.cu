// Adds the updates of each slice, of type T, in the order of their indices. Sums are in type W and are rounded once;
// where there is no update they are 0. A thread takes a column of a slice, or as many as it can read and write at once.
#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/vectors.h"

enum { LOCAL(width) = DP_VECTOR_BYTES / sizeof(T) };

typedef struct {
  T at[1];
} LOCAL(one);

typedef struct DP_ALIGNED(DP_VECTOR_BYTES) {
  T at[LOCAL(width)];
} LOCAL(vector);

// Columns number i * WIDTH and the next, counted over all slices. V holds WIDTH of them. A batch of updates is read
// before the first of them is added, also what lies behind the last.
#define ADD_UPDATES(NAME_OF, V, WIDTH)                                                   \
  DP_DEVICE void NAME_OF(const dp_gather_sum_arguments *a, dp_i64 i) {                   \
    const dp_i64 inner = a->inner / WIDTH, row = i / inner, slice = row % a->here;       \
    const dp_i64 end = a->starts[slice + 1], places = ((dp_i64)1 << a->shift) - 1;       \
    const V *dy = (const V *)a->dy + row / a->here * a->count * inner + i % inner;       \
    W sums[WIDTH];                                                                       \
    V next[DP_GATHER_BATCH];                                                             \
    for (int l = 0; l < WIDTH; l++) sums[l] = 0;                                         \
    for (dp_i64 k = a->starts[slice]; k < end; k += DP_GATHER_BATCH) {                   \
      DP_UNROLL                                                                          \
      for (int b = 0; b < DP_GATHER_BATCH; b++)                                          \
        next[b] = dy[((dp_i64)a->keys[k + b < end ? k + b : end - 1] & places) * inner]; \
      DP_UNROLL                                                                          \
      for (int b = 0; b < DP_GATHER_BATCH; b++)                                          \
        for (int l = 0; l < WIDTH; l++)                                                  \
          if (k + b < end) sums[l] += GET(next[b].at[l]);                                \
    }                                                                                    \
    V made;                                                                              \
    for (int l = 0; l < WIDTH; l++) made.at[l] = PUT(sums[l]);                           \
    ((V *)a->dx)[i] = made;                                                              \
  }

ADD_UPDATES(LOCAL(add_one), LOCAL(one), 1)
ADD_UPDATES(LOCAL(add_vector), LOCAL(vector), LOCAL(width))

DP_KERNEL(dp_gather_sum_arguments) {
  const dp_i64 columns = a.outer * a.here * a.inner, items = a.vectors ? columns / LOCAL(width) : columns;
  for (dp_i64 i = dp_index(); i < items; i += dp_stride()) {
    if (a.vectors)
      LOCAL(add_vector)(&a, i);
    else
      LOCAL(add_one)(&a, i);
  }
}
