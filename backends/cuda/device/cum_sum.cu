// Running sums of elements of type T, in the type A, a block for each row. EXCLUSIVE: 1 to leave out the element
// itself; REVERSE: 1 to begin at the end. Each thread sums a share of the row, adds what comes before the share, and
// goes through it again, so that the order depends on the length alone.
#include "backends/cuda/device/cum_sum.h"

DP_BLOCK_KERNEL(dp_cum_sum_arguments) {
  DP_SHARED A sums[DP_CUM_SUM_THREADS];
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 row = dp_block() / a.inner * a.length * a.inner + dp_block() % a.inner;
  const dp_i64 first = a.length * t / n, end = a.length * (t + 1) / n;
  const T *x = (const T *)a.x + row;
  T *y = (T *)a.y + row;
  A sum = 0;
  for (dp_i64 k = first; k < end; k++) sum += (A)GET(x[(REVERSE ? a.length - 1 - k : k) * a.inner]);
  sums[t] = sum;
  dp_barrier();
  sum = 0;
  for (int i = 0; i < t; i++) sum += sums[i];
  for (dp_i64 k = first; k < end; k++) {
    const dp_i64 at = (REVERSE ? a.length - 1 - k : k) * a.inner;
    const A before = sum;
    sum += (A)GET(x[at]);
    y[at] = PUT(EXCLUSIVE ? before : sum);
  }
}
