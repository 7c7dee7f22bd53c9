// Reduces elements of type T to results of type R, in the type A. NONE is the value of no elements, STEP(acc, v) adds
// an element, JOIN(acc, other) joins two results, FINISH(acc) is the whole result, and PUT rounds it to R. COLUMNS: 1
// where a warp's threads take neighbouring results, 0 where a block's threads share one. LAST: 1 where results are
// final.
#include "backends/cuda/device/reduce.h"

DP_BLOCK_KERNEL(dp_reduce_arguments) {
  DP_SHARED A parts[DP_REDUCE_THREADS];
  const int t = dp_thread(), width = COLUMNS ? DP_REDUCE_COLUMNS : 1, groups = DP_REDUCE_THREADS / width;
  const dp_i64 split = dp_block() % a.splits, result = dp_block() / a.splits * width + t % width;
  const dp_i64 first = a.reduced.count * split / a.splits, end = a.reduced.count * (split + 1) / a.splits;
  A acc = NONE;
  if (result < a.kept.count) {
    const T *x = (const T *)a.x + dp_reduce_offset(&a.kept, result);
    for (dp_i64 i = first + t / width; i < end; i += groups) {
      const A v = (A)GET(x[dp_reduce_offset(&a.reduced, i)]);
      acc = (A)(STEP(acc, v));
    }
  }
  parts[t] = acc;
  dp_barrier();
  // Sixteen threads of each result join its parts, then one joins theirs.
  const int each = groups > 16 ? 16 : 1, own = t / width;
  if (each > 1 && own < each) {
    for (int i = own + each; i < groups; i += each) {
      const A other = parts[i * width + t % width];
      acc = (A)(JOIN(acc, other));
    }
    parts[t] = acc;
  }
  dp_barrier();
  if (own > 0 || result >= a.kept.count) return;
  for (int i = 1; i < (each > 1 ? each : groups); i++) {
    const A other = parts[i * width + t % width];
    acc = (A)(JOIN(acc, other));
  }
  if (LAST)
    ((R *)a.y)[result] = PUT(FINISH(acc));
  else
    ((A *)a.y)[split * a.kept.count + result] = acc;
}
