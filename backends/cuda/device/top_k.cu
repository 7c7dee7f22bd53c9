// The best elements of type T of a row, a block for each row, found one at a time: each is the best among those after
// the previous one, in order of value, then index. A thread keeps the best of its own elements that is left, and looks
// for another only when that was the best of all. LARGEST: 1 for the largest, 0 for the smallest. IS_NAN(x)
// tells what counts as the largest.
#include "backends/cuda/device/top_k.h"

typedef struct {
  W value;
  dp_i64 at;  // -1: none
} LOCAL(found);

// Whether p comes before q. Only of different elements.
DP_DEVICE bool LOCAL(before)(LOCAL(found) p, LOCAL(found) q) {
  const bool p_nan = IS_NAN(p.value), q_nan = IS_NAN(q.value);
  const bool equal = p_nan ? q_nan : p.value == q.value, larger = p_nan ? !q_nan : !q_nan && p.value > q.value;
  return equal ? p.at < q.at : LARGEST ? larger : !larger;
}

// The best of this thread's elements after `last`; of all, if that is none.
DP_DEVICE LOCAL(found) LOCAL(next)(const dp_top_k_arguments *a, const T *x, LOCAL(found) last) {
  LOCAL(found) best = {0, -1};
  for (dp_i64 k = dp_thread(); k < a->length; k += dp_threads()) {
    const LOCAL(found) here = {GET(x[k * a->inner]), k};
    const bool after = last.at < 0 || (k != last.at && LOCAL(before)(last, here));
    if (after && (best.at < 0 || LOCAL(before)(here, best))) best = here;
  }
  return best;
}

DP_BLOCK_KERNEL(dp_top_k_arguments) {
  DP_SHARED LOCAL(found) best[DP_TOP_K_THREADS];
  const int t = dp_thread();
  const dp_i64 outer = dp_block() / a.inner, inner = dp_block() % a.inner;
  const T *x = (const T *)a.x + outer * a.length * a.inner + inner;
  const dp_i64 to = outer * a.count * a.inner + inner;
  const LOCAL(found) none = {0, -1};
  LOCAL(found) mine = LOCAL(next)(&a, x, none);
  for (dp_i64 rank = 0; rank < a.count; rank++) {
    best[t] = mine;
    dp_barrier();
    for (int half = dp_threads() / 2; half > 0; half /= 2) {
      if (t < half && best[t + half].at >= 0 && (best[t].at < 0 || LOCAL(before)(best[t + half], best[t])))
        best[t] = best[t + half];
      dp_barrier();
    }
    const LOCAL(found) found = best[0];
    if (t == 0) {
      ((T *)a.y)[to + rank * a.inner] = PUT(found.value);
      a.indices[to + rank * a.inner] = found.at;
    }
    if (mine.at == found.at) mine = LOCAL(next)(&a, x, found);
    dp_barrier();  // before somebody writes there again
  }
}
