// The index of the most extreme element of short rows of contiguous elements of type T, a warp for each, which reads
// WIDTH neighbours at a time. BETTER, LAST and IS_NAN are those of arg.cu.
#include "backends/cuda/device/arg.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

typedef struct {
  W value;
  int at;
} LOCAL(found);

enum { LOCAL(each) = 4 };  // vectors that a thread has under way

// Of an element found and one behind it.
DP_DEVICE LOCAL(found) LOCAL(next)(LOCAL(found) p, W value, int at) {
  const LOCAL(found) q = {value, at};
  if (IS_NAN(p.value)) return LAST && IS_NAN(value) ? q : p;
  return IS_NAN(value) || BETTER(value, p.value) || (LAST && value == p.value) ? q : p;
}

// Of any two.
DP_DEVICE LOCAL(found) LOCAL(better)(LOCAL(found) p, LOCAL(found) q) {
  return p.at < q.at ? LOCAL(next)(p, q.value, q.at) : p.at > q.at ? LOCAL(next)(q, p.value, p.at) : p;
}

DP_BLOCK_KERNEL(dp_arg_arguments) {
  DP_SHARED LOCAL(found) best[DP_BLOCK_MOST];
  const int t = dp_thread(), lane = t % DP_WARP, length = (int)a.length;
  const dp_i64 row = dp_block() * DP_ARG_ROWS + t / DP_WARP, mine = row < a.results ? row : a.results - 1;
  const T *x = (const T *)a.x + mine * a.length;
  const int head = a.aligned ? (int)((WIDTH - mine * a.length % WIDTH) % WIDTH) : 0;
  const int vectors = length < head ? 0 : (length - head) / WIDTH;
  LOCAL(found) found = {GET(x[0]), 0};
  for (int k = lane; k < vectors; k += DP_WARP * LOCAL(each)) {
    LOCAL(vector) v[LOCAL(each)];
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      const int next = k + u * DP_WARP;
      v[u] = LOCAL(load)(x + head + (next < vectors ? next : k) * WIDTH, a.aligned);
    }
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      const int next = k + u * DP_WARP;
      if (next >= vectors) break;
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++) found = LOCAL(next)(found, GET(v[u].e[l]), head + next * WIDTH + l);
    }
  }
  // The elements at the row's ends, which no vector has.
  const int edge = lane < head ? lane : lane + vectors * WIDTH;
  if (edge < length) {
    const LOCAL(found) last = {GET(x[edge]), edge};
    found = LOCAL(better)(found, last);
  }
  best[t] = found;
  dp_barrier();
  for (int half = DP_WARP / 2; half > 0; half /= 2) {
    if (lane < half) best[t] = LOCAL(better)(best[t], best[t + half]);
    dp_barrier();
  }
  if (lane == 0 && row < a.results) a.y[row] = best[t].at;
}
