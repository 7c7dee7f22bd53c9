// The gradients of a key and a value, a block for each: the rows of the scores that see them are summed in order. What
// attention_grad_rows.cu leaves in `through` is read here.
#include "backends/cuda/device/attention_scores.h"

DP_ATTENTION_SCORES(LOCAL(score), LOCAL(score_of), LOCAL(keep), LOCAL(hidden))

DP_BLOCK_KERNEL(dp_attention_arguments) {
  DP_SHARED double ds[DP_BLOCK_MOST];
  DP_SHARED double weights[DP_BLOCK_MOST];
  const int t = dp_thread(), n = dp_threads();
  const dp_i64 g = dp_block() % a.groups, j = dp_block() / a.groups % a.keys, b = dp_block() / a.groups / a.keys;
  const dp_i64 rows = a.each * a.length, widest = a.size > a.v_size ? a.size : a.v_size;
  for (dp_i64 column = 0; column < widest; column += n) {
    const dp_i64 c = column + t;
    double dk = 0, dv = 0;
    for (dp_i64 first = 0; first < rows; first += n) {
      const dp_i64 own = first + t, count = rows - first < n ? rows - first : n;
      ds[t] = weights[t] = 0;
      if (own < rows) {
        const dp_attention_row r = dp_attention_row_of(&a, b, g * a.each + own / a.length, own % a.length);
        const double lse = (double)((const L *)a.given_lse)[r.row];
        const bool later = MASK == 3 && j > r.place;
        if (!later && !(a.zero_rows && lse == -DP_INFINITY)) {
          const T *dy = (const T *)a.dy + r.y, *v = (const T *)a.v + r.v + j * a.v_row;
          const double p = DP_EXPONENTIAL(LOCAL(score)(&a, &r, j) - lse), kept = LOCAL(keep)(&a, &r, j);
          double dp = 0;
          for (dp_i64 i = 0; i < a.v_size; i++) dp += (double)GET(dy[i]) * (double)GET(v[i]);
          weights[t] = p * kept;
          if (!LOCAL(hidden)(&a, &r, j)) ds[t] = p * (kept * dp - a.through[r.row]);
        }
      }
      dp_barrier();
      for (dp_i64 i = 0; i < count; i++) {
        const dp_i64 row = first + i;
        const dp_attention_row r = dp_attention_row_of(&a, b, g * a.each + row / a.length, row % a.length);
        if (c < a.size) dk += a.scale * ds[i] * (double)GET(((const T *)a.q)[r.q + c]);
        if (c < a.v_size) dv += weights[i] * (double)GET(((const T *)a.dy)[r.y + c]);
      }
      dp_barrier();
    }
    const dp_i64 key = b * a.keys + j;
    if (c < a.size) ((T *)a.dk)[key * a.dk_row + g * a.size + c] = PUT(dk);
    if (c < a.v_size) ((T *)a.dv)[key * a.dv_row + g * a.v_size + c] = PUT(dv);
  }
}
