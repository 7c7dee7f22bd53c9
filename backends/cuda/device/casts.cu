// Casts tensors of type U to type T. BY_FLOAT(x): x, or a float that rounds to T as x does.
#include "backends/cuda/device/casts.h"
#include "backends/cuda/device/table.h"
#include "backends/cuda/device/vectors.h"

typedef struct DP_ALIGNED(DP_VECTOR_BYTES) {
  U e[DP_CASTS_AT_ONCE];
} LOCAL(read);
typedef struct DP_ALIGNED(DP_VECTOR_BYTES) {
  T e[DP_CASTS_AT_ONCE];
} LOCAL(written);

DP_BOUNDED_KERNEL(dp_casts_arguments, DP_CASTS_THREADS, 4) {
  const dp_casts_tensor x = a.tensors[LOCAL(table_entry)(&a.tensors->first_block, sizeof *a.tensors, a.n_tensors)];
  const U *from = (const U *)x.from;
  T *to = (T *)x.to;
  const bool aligned = ((dp_u64)from | (dp_u64)to) % DP_VECTOR_BYTES == 0;
  const dp_i64 first = (dp_block() - x.first_block) * (DP_CASTS_THREADS * DP_CASTS_EACH);
  DP_UNROLL
  for (int k = 0; k < DP_CASTS_EACH / DP_CASTS_AT_ONCE; k++) {
    const dp_i64 i = first + (k * DP_CASTS_THREADS + dp_thread()) * DP_CASTS_AT_ONCE;
    if (aligned && i + DP_CASTS_AT_ONCE <= x.count) {
      const LOCAL(read) r = *(const LOCAL(read) *)(from + i);
      LOCAL(written) w;
      DP_UNROLL
      for (int l = 0; l < DP_CASTS_AT_ONCE; l++) w.e[l] = PUT(BY_FLOAT(GET_U(r.e[l])));
      *(LOCAL(written) *)(to + i) = w;
    } else {
      for (dp_i64 l = i; l < i + DP_CASTS_AT_ONCE && l < x.count; l++) to[l] = PUT(BY_FLOAT(GET_U(from[l])));
    }
  }
}
