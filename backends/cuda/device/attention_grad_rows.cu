// The gradients of a query and of a row of the mask, a block for each row of the scores.
#include "backends/cuda/device/attention_scores.h"

DP_ATTENTION_SCORES(LOCAL(score), LOCAL(score_of), LOCAL(keep), LOCAL(hidden))

DP_BLOCK_KERNEL(dp_attention_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED double ds[DP_BLOCK_MOST];
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 l = dp_block() % a.length, h = dp_block() / a.length % a.heads, b = dp_block() / a.length / a.heads;
  const dp_attention_row r = dp_attention_row_of(&a, b, h, l);
  const T *dy = (const T *)a.dy + r.y, *y = (const T *)a.given_y + r.y;
  const double lse = (double)((const L *)a.given_lse)[r.row];
  const dp_i64 keys = MASK == 3 && !a.dmask && r.place < a.keys ? r.place + 1 : a.keys;
  const bool blind = a.zero_rows && lse == -DP_INFINITY;
  double through = 0;
  for (dp_i64 c = t; c < a.v_size; c += n) through += (double)GET(dy[c]) * (double)GET(y[c]);
  through = dp_block_sum(through, shared);
  if (t == 0) a.through[r.row] = through;
  for (dp_i64 column = 0; column < a.size || column == 0; column += n) {
    const dp_i64 c = column + t;
    double dq = 0;
    for (dp_i64 first = 0; first < keys; first += n) {
      const dp_i64 j = first + t, count = keys - first < n ? keys - first : n;
      ds[t] = 0;
      if (j < keys && !blind && !LOCAL(hidden)(&a, &r, j)) {
        const T *v = (const T *)a.v + r.v + j * a.v_row;
        double dp = 0;
        for (dp_i64 i = 0; i < a.v_size; i++) dp += (double)GET(dy[i]) * (double)GET(v[i]);
        ds[t] = DP_EXPONENTIAL(LOCAL(score)(&a, &r, j) - lse) * (LOCAL(keep)(&a, &r, j) * dp - through);
      }
      if (j < keys && a.dmask && column == 0) ((T *)a.dmask)[r.row * a.keys + j] = PUT(ds[t]);
      dp_barrier();
      const T *k = (const T *)a.k + r.k + first * a.k_row + c;
      if (c < a.size)
        for (dp_i64 i = 0; i < count; i++) dq += a.scale * ds[i] * (double)GET(k[i * a.k_row]);
      dp_barrier();
    }
    if (c < a.size) ((T *)a.dq)[(b * a.length + l) * a.dq_row + h * a.size + c] = PUT(dq);
  }
}
