// Attention, a block for each row of the scores, which are computed again where they are needed and stored nowhere.
#include "backends/cuda/device/attention_scores.h"

DP_ATTENTION_SCORES(LOCAL(score), LOCAL(keep), LOCAL(hidden))

DP_BLOCK_KERNEL(dp_attention_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED double weights[DP_BLOCK_MOST];
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 l = dp_block() % a.length, h = dp_block() / a.length % a.heads, b = dp_block() / a.length / a.heads;
  const dp_attention_row r = dp_attention_row_of(&a, b, h, l);
  double most = -DP_INFINITY, seen = 0, sum = 0;
  for (dp_i64 j = t; j < a.keys; j += n) {
    const double s = LOCAL(score)(&a, &r, j);
    most = fmax(most, s);
    seen += s != -DP_INFINITY;
  }
  most = dp_block_max(most, shared);
  bool blind = a.zero_rows && dp_block_sum(seen, shared) == 0;
  for (dp_i64 j = t; j < a.keys && !blind; j += n) sum += DP_EXPONENTIAL(LOCAL(score)(&a, &r, j) - most);
  sum = dp_block_sum(sum, shared);
  blind |= a.zero_nan && sum != sum;
  if (t == 0 && a.lse) ((L *)a.lse)[r.row] = (L)(blind || !a.keys ? -DP_INFINITY : most + log(sum));
  for (dp_i64 column = 0; column < a.v_size; column += n) {
    const dp_i64 c = column + t;
    double y = 0;
    for (dp_i64 first = 0; first < a.keys; first += n) {
      const dp_i64 j = first + t, count = a.keys - first < n ? a.keys - first : n;
      weights[t] = 0;
      if (j < a.keys && !blind)
        weights[t] = DP_EXPONENTIAL(LOCAL(score)(&a, &r, j) - most) / sum * LOCAL(keep)(&a, &r, j);
      dp_barrier();
      const T *v = (const T *)a.v + r.v + first * a.groups * a.v_size + c;
      if (c < a.v_size)
        for (dp_i64 k = 0; k < count; k++) y += weights[k] * (double)GET(v[k * a.groups * a.v_size]);
      dp_barrier();
    }
    if (c < a.v_size) ((T *)a.y)[r.y + c] = PUT(y);
  }
}
