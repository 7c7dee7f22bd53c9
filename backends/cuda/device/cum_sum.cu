// Running sums of elements of type T, in the type A, a block for each row. EXCLUSIVE: 1 to leave out the element
// itself; REVERSE: 1 to begin at the end.
//
// A block goes through the row by chunks, in which each thread has neighbours. It adds these up, then the sums of the
// threads before it, group by group, and what comes before the chunk: so the order depends on the length alone.
#include "backends/cuda/device/cum_sum.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, DP_CUM_SUM_EACH)

// The sum of the threads before this one, in order. *all: that of all threads. sums, groups: in DP_SHARED memory.
DP_DEVICE A LOCAL(before)(A mine, A *sums, A *groups, A *all) {
  const int t = dp_thread(), group = t / DP_CUM_SUM_GROUP;
  A before = 0, base = 0, whole = 0;
  sums[t] = mine;
  dp_barrier();
  for (int i = group * DP_CUM_SUM_GROUP; i < t; i++) before += sums[i];
  if (t % DP_CUM_SUM_GROUP == DP_CUM_SUM_GROUP - 1) groups[group] = before + mine;
  dp_barrier();
  for (int g = 0; g < dp_threads() / DP_CUM_SUM_GROUP; g++) {
    if (g == group) base = whole;
    whole += groups[g];
  }
  *all = whole;
  return base + before;
}

DP_BLOCK_KERNEL(dp_cum_sum_arguments) {
  DP_SHARED A sums[DP_CUM_SUM_THREADS], groups[DP_CUM_SUM_THREADS / DP_CUM_SUM_GROUP];
  const dp_i64 row = dp_block() / a.inner * a.length * a.inner + dp_block() % a.inner;
  const T *x = (const T *)a.x + row;
  T *y = (T *)a.y + row;
  A carried = 0;
  for (dp_i64 chunk = 0; chunk < a.length; chunk += (dp_i64)dp_threads() * DP_CUM_SUM_EACH) {
    // Elements first .. first + EACH - 1 in the order of the sum, of which the row has `mine`; the lowest is at `low`.
    const dp_i64 first = chunk + (dp_i64)dp_thread() * DP_CUM_SUM_EACH, left = a.length - first;
    const int mine = left >= DP_CUM_SUM_EACH ? DP_CUM_SUM_EACH : left > 0 ? (int)left : 0;
    const bool whole = a.aligned && mine == DP_CUM_SUM_EACH;
    const dp_i64 low = REVERSE ? left - DP_CUM_SUM_EACH : first;
    LOCAL(vector) v;
    A held[DP_CUM_SUM_EACH], sum = 0, all;  // held: what comes before or with each element
    if (whole) v = LOCAL(load)(x + low, 1);
    DP_UNROLL
    for (int l = 0; l < DP_CUM_SUM_EACH; l++) {
      const int e = REVERSE ? DP_CUM_SUM_EACH - 1 - l : l;
      if (!whole && l < mine) v.e[e] = x[(low + e) * a.inner];
      const A before = sum;
      if (l < mine) sum += (A)GET(v.e[e]);
      held[l] = EXCLUSIVE ? before : sum;
    }
    const A before = carried + LOCAL(before)(sum, sums, groups, &all);
    DP_UNROLL
    for (int l = 0; l < DP_CUM_SUM_EACH; l++) {
      const int e = REVERSE ? DP_CUM_SUM_EACH - 1 - l : l;
      v.e[e] = PUT(before + held[l]);
      if (!whole && l < mine) y[(low + e) * a.inner] = v.e[e];
    }
    if (whole) LOCAL(store)(y + low, v, 1);
    carried += all;
  }
}
