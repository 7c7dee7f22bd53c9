// Copies elements of type T along RANK dims, at least one, WIDTH neighbours at a time: the last dim counts them. INDEX
// is an unsigned type that holds the count.
#include "backends/cuda/device/strided.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

DP_KERNEL(dp_strided_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    dp_i64 from = 0, to = 0;
    INDEX rest = (INDEX)i;
    for (int d = RANK - 1; d > 0; d--) {
      const dp_i64 at = (dp_i64)(rest % (INDEX)a.extents[d]);
      rest /= (INDEX)a.extents[d];
      from += at * a.from_strides[d];
      to += at * a.to_strides[d];
    }
    from += (dp_i64)rest * a.from_strides[0];
    to += (dp_i64)rest * a.to_strides[0];
    LOCAL(store)((T *)a.to + to, LOCAL(load)((const T *)a.from + from, a.aligned), a.aligned);
  }
}
