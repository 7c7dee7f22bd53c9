// Reduces elements of type T to results of type R, in the type A. NONE is the value of no elements, STEP(acc, v) adds
// an element, JOIN(acc, other) joins two results, FINISH(acc) is the whole result, and PUT rounds it to R. LAST: 1
// where results are final. SHORT 1: STEP adds floats of 16 bits; the few that are loaded at once are added as floats,
// which loses little, before their sum is converted to A: conversions to double take longer than memory. They are added
// as 1/128 of themselves, so that floats have room for the sum.
//
// KEPT_RANK, REDUCED_RANK: of the dims of results, and of elements.
//
// COLUMNS 1: a warp takes 32 * VECTOR neighbouring results, of which each thread has VECTOR and the block's warps share
// the elements. COLUMNS 0: SHARERS threads share the elements of a result, VECTOR neighbours each at a time.
#include "backends/cuda/device/reduce.h"
#include "backends/cuda/device/vectors.h"

enum {
  LOCAL(results) = DP_REDUCE_THREADS / SHARERS,  // or vectors of them
  LOCAL(each) = COLUMNS ? VECTOR : 1,            // results of a thread
  LOCAL(unrolled) = 4                            // loads that are under way at once
};

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, VECTOR)

// Adds the first `count` vectors.
DP_DEVICE void LOCAL(add)(A *results, const LOCAL(vector) * v, int count) {
#if SHORT
  float few[LOCAL(each)] = {0};
  DP_UNROLL
  for (int u = 0; u < LOCAL(unrolled); u++) {
    DP_UNROLL
    for (int l = 0; l < VECTOR; l++) {
      float *sum = &few[COLUMNS ? l : 0];
      *sum = fmaf(u < count ? GET(v[u].e[l]) : 0.0f, 0x1p-7f, *sum);
    }
  }
  DP_UNROLL
  for (int l = 0; l < LOCAL(each); l++) results[l] += 0x1p7 * (A)few[l];
#else
  DP_UNROLL
  for (int u = 0; u < LOCAL(unrolled); u++) {
    DP_UNROLL
    for (int l = 0; l < VECTOR && u < count; l++) {
      A *result = &results[COLUMNS ? l : 0];
      const A acc = *result, element = (A)GET(v[u].e[l]);
      *result = (A)(STEP(acc, element));
    }
  }
#endif
}

// Joins to part `from` of result l those of every `apart`-th thread after it.
DP_DEVICE A LOCAL(join)(const A *parts, int slot, int l, int from, int apart, int end) {
  A acc = parts[(from * LOCAL(results) + slot) * LOCAL(each) + l];
  for (int i = from + apart; i < end; i += apart) {
    const A other = parts[(i * LOCAL(results) + slot) * LOCAL(each) + l];
    acc = (A)(JOIN(acc, other));
  }
  return acc;
}

DP_BOUNDED_KERNEL(dp_reduce_arguments, DP_REDUCE_THREADS, 4) {
  DP_SHARED A parts[DP_REDUCE_THREADS * LOCAL(each)];
  const int t = dp_thread(), step = COLUMNS ? 1 : VECTOR;
  const int slot = COLUMNS ? t % LOCAL(results) : t / SHARERS, own = COLUMNS ? t / LOCAL(results) : t % SHARERS;
  const dp_i64 split = dp_block() % a.splits;
  const dp_i64 result = (dp_block() / a.splits * LOCAL(results) + slot) * LOCAL(each);
  const dp_i64 units = a.reduced.count / step, first = units * split / a.splits, end = units * (split + 1) / a.splits;
  A acc[LOCAL(each)];
  DP_UNROLL
  for (int l = 0; l < LOCAL(each); l++) acc[l] = NONE;
  if (result < a.kept.count) {
    const T *x = (const T *)a.x + dp_reduce_offset(&a.kept, KEPT_RANK, result);
    for (dp_i64 i = first + own; i < end; i += LOCAL(unrolled) * SHARERS) {
      const dp_i64 left = (end - i + SHARERS - 1) / SHARERS;
      LOCAL(vector) v[LOCAL(unrolled)];
      DP_UNROLL
      for (int u = 0; u < LOCAL(unrolled); u++)
        v[u] = LOCAL(load)(x + dp_reduce_offset(&a.reduced, REDUCED_RANK, (u < left ? i + u * SHARERS : i) * step),
                           a.aligned);
      LOCAL(add)(acc, v, left < LOCAL(unrolled) ? (int)left : (int)LOCAL(unrolled));
    }
  }
  for (int l = 0; l < LOCAL(each); l++) parts[(own * LOCAL(results) + slot) * LOCAL(each) + l] = acc[l];
  dp_barrier();
  // Of many threads sixteen join the parts first, then one joins theirs.
  const int joining = SHARERS > 16 ? 16 : SHARERS;
  for (int l = 0; l < LOCAL(each) && own < joining && joining < SHARERS; l++)
    parts[(own * LOCAL(results) + slot) * LOCAL(each) + l] = LOCAL(join)(parts, slot, l, own, joining, SHARERS);
  dp_barrier();
  if (own > 0 || result >= a.kept.count) return;
  for (int l = 0; l < LOCAL(each); l++) {
    const A whole = LOCAL(join)(parts, slot, l, 0, 1, joining);
    if (LAST)
      ((R *)a.y)[result + l] = PUT(FINISH(whole));
    else
      ((A *)a.y)[split * a.kept.count + result + l] = whole;
  }
}
