// Running sums of elements of type T, in the type A, a thread for each line: for short lines, and for many whose
// elements are neighbours of other lines' elements, so that neighbouring threads read neighbours. EXCLUSIVE and REVERSE
// are those of cum_sum.cu. Several elements are read before they are added, since each store may be where x is.
#include "backends/cuda/device/cum_sum.h"
#include "backends/cuda/device/vectors.h"

DP_KERNEL(dp_cum_sum_arguments) {
  const dp_i64 line = dp_index();
  if (line >= a.lines) return;
  const dp_i64 first = line / a.inner * a.length * a.inner + line % a.inner;
  const dp_i64 step = REVERSE ? -a.inner : a.inner;
  const T *x = (const T *)a.x + first + (REVERSE ? (a.length - 1) * a.inner : 0);
  T *y = (T *)a.y + first + (REVERSE ? (a.length - 1) * a.inner : 0);
  A sum = 0;
  for (dp_i64 k = 0; k < a.length; k += DP_CUM_SUM_EACH) {
    const dp_i64 left = a.length - k;
    T held[DP_CUM_SUM_EACH];
    DP_UNROLL
    for (int l = 0; l < DP_CUM_SUM_EACH; l++)
      if (l < left) held[l] = x[(k + l) * step];
    DP_UNROLL
    for (int l = 0; l < DP_CUM_SUM_EACH; l++) {
      const A before = sum;
      if (l >= left) break;
      sum += (A)GET(held[l]);
      y[(k + l) * step] = PUT(EXCLUSIVE ? before : sum);
    }
  }
}
