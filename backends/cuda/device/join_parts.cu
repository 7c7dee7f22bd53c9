// Adds equal parts of type T, in an order that depends on their number alone: each of a result's threads adds every so
// many parts, and one adds theirs.
#include "backends/cuda/device/join_parts.h"

DP_BLOCK_KERNEL(dp_join_parts_arguments) {
  DP_SHARED W shared[DP_JOIN_THREADS];
  const int own = dp_thread() / DP_JOIN_SIDE;
  const dp_i64 i = dp_block() * DP_JOIN_SIDE + dp_thread() % DP_JOIN_SIDE;
  W sum = 0;
  if (i < a.count)
    for (dp_i64 p = own; p < a.parts; p += DP_JOIN_SHARES) sum += GET(((const T *)a.x)[p * a.count + i]);
  shared[dp_thread()] = sum;
  dp_barrier();
  if (own > 0 || i >= a.count) return;
  for (int s = 1; s < DP_JOIN_SHARES; s++) sum += shared[s * DP_JOIN_SIDE + dp_thread()];
  ((T *)a.y)[i] = PUT(sum);
}
