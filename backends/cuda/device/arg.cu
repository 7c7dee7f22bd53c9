// The index of the most extreme element of type T: BETTER(a, b) tells whether a is more extreme than b, and LAST
// whether the last of equal ones is meant. IS_NAN(x) tells what is more extreme than all else. COLUMNS: 1 where a
// warp's threads take neighbouring results, 0 where a block's threads share one.
#include "backends/cuda/device/arg.h"
#include "backends/cuda/device/block.h"

typedef struct {
  W value;
  dp_i64 at;  // -1: none
} LOCAL(found);

DP_DEVICE LOCAL(found) LOCAL(better)(LOCAL(found) p, LOCAL(found) q) {
  if (p.at < 0 || q.at < 0) return p.at < 0 ? q : p;
  const bool p_nan = IS_NAN(p.value), q_nan = IS_NAN(q.value);
  const bool equal = p_nan ? q_nan : p.value == q.value;
  if (equal) return (p.at < q.at) != (bool)LAST ? p : q;
  return p_nan || (!q_nan && BETTER(p.value, q.value)) ? p : q;
}

DP_BLOCK_KERNEL(dp_arg_arguments) {
  DP_SHARED LOCAL(found) best[DP_BLOCK_MOST];
  const int t = dp_thread(), width = COLUMNS ? DP_ARG_COLUMNS : 1;
  const dp_row_share mine = dp_row_share_of(a.n, a.shares, dp_block());
  const dp_i64 result = mine.row * width + t % width;
  const T *x = (const T *)a.x + result / a.inner * a.length * a.inner + result % a.inner;
  LOCAL(found) found = {0, -1};
  for (dp_i64 k = mine.first + t / width; k < mine.end && result < a.results; k += dp_threads() / width) {
    const dp_i64 at = a.candidates ? a.candidates[result * a.n + k] : k;
    const LOCAL(found) next = {GET(x[at * a.inner]), at};
    found = LOCAL(better)(found, next);
  }
  best[t] = found;
  dp_barrier();
  for (int half = dp_threads() / 2; half >= width; half /= 2) {
    if (t < half) best[t] = LOCAL(better)(best[t], best[t + half]);
    dp_barrier();
  }
  if (t < width && result < a.results) a.y[result * a.shares + dp_block() % a.shares] = best[t].at < 0 ? 0 : best[t].at;
}
