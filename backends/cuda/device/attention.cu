// Attention, a block for each tile of rows of a head's scores. Scores are computed again where they are needed, and
// stored nowhere.
#include "backends/cuda/device/attention_scores.h"

DP_ATTENTION_SCORES(LOCAL(score), LOCAL(score_of), LOCAL(keep), LOCAL(hidden))
DP_TILE_PRODUCT(LOCAL(multiply), double)
DP_TILE_LOAD(LOCAL(load), double)

// The thread's i-th row, of a tile that begins with row r.
DP_DEVICE dp_attention_row LOCAL(row)(const dp_attention_arguments *a, dp_attention_row r, int i) {
  r.row += dp_tile_row(i);
  r.mask += dp_tile_row(i) * a->mask_stride[2];
  r.place += dp_tile_row(i);
  return r;
}

// The thread's scores, of `lines` rows from row r on, with the keys from `first` on. What is no score is 0.
DP_DEVICE void LOCAL(scores)(const dp_attention_arguments *a, dp_attention_row r, dp_i64 lines, dp_i64 first,
                             double *left, double *right, double *s) {
  const T *q = (const T *)a->q + r.q, *k = (const T *)a->k + r.k + first * a->k_row;
  for (int i = 0; i < DP_TILE_EACH * DP_TILE_EACH; i++) s[i] = 0;
  for (dp_i64 c = 0; c < a->size; c += DP_TILE_DEPTH) {
    LOCAL(load)(q + c, lines, a->q_row, a->size - c, 1, left);
    LOCAL(load)(k + c, a->keys - first, a->k_row, a->size - c, 1, right);
    dp_barrier();
    LOCAL(multiply)(left, right, s);
    dp_barrier();
  }
  for (int i = 0; i < DP_TILE_EACH; i++) {
    const dp_attention_row own = LOCAL(row)(a, r, i);
    for (int j = 0; j < DP_TILE_EACH; j++) {
      const dp_i64 at = first + dp_tile_column(j);
      if (dp_tile_row(i) < lines && at < a->keys)
        s[i * DP_TILE_EACH + j] = LOCAL(score_of)(a, &own, at, s[i * DP_TILE_EACH + j]);
    }
  }
}

// How many keys there are up to the last that any row of the tile that begins with row l may see.
DP_DEVICE dp_i64 LOCAL(seen)(const dp_attention_arguments *a, dp_i64 l) {
  const dp_i64 seen = a->first + (a->length - l < DP_TILE_SIDE ? a->length : l + DP_TILE_SIDE);
  return MASK == 3 && seen < a->keys ? seen : a->keys;
}

// Of each row: the largest score in `most`, and in `whole` the sum of the exponentials relative to it; 0 for a row that
// gives 0. Each thread keeps its keys' sum relative to the largest so far, as in exponentials.h; one of each row joins
// them in order.
DP_DEVICE void LOCAL(sums)(const dp_attention_arguments *a, dp_attention_row r, dp_i64 lines, dp_i64 keys, double *left,
                           double *right, double *most, double *whole) {
  const int t = dp_thread(), lane = t % DP_TILE_ACROSS;
  double mine[DP_TILE_EACH], sum[DP_TILE_EACH], s[DP_TILE_EACH * DP_TILE_EACH];
  for (int i = 0; i < DP_TILE_EACH; i++) mine[i] = -DP_INFINITY, sum[i] = 0;
  for (dp_i64 first = 0; first < keys; first += DP_TILE_SIDE) {
    LOCAL(scores)(a, r, lines, first, left, right, s);
    for (int i = 0; i < DP_TILE_EACH; i++)
      for (int j = 0; j < DP_TILE_EACH && first + dp_tile_column(j) < a->keys; j++) {
        const double z = s[i * DP_TILE_EACH + j];
        if (z > mine[i]) {
          sum[i] = sum[i] * exp(mine[i] - z) + 1;
          mine[i] = z;
        } else if (z != -DP_INFINITY) {
          sum[i] += DP_EXPONENTIAL(z - mine[i]);
        }
      }
  }
  for (int i = 0; i < DP_TILE_EACH; i++) {
    left[lane * DP_TILE_STEP + dp_tile_row(i)] = mine[i];
    right[lane * DP_TILE_STEP + dp_tile_row(i)] = sum[i];
  }
  dp_barrier();
  if (t < DP_TILE_SIDE) {
    double largest = -DP_INFINITY, all = 0, seen = 0;
    for (int i = 0; i < DP_TILE_ACROSS; i++) largest = fmax(largest, left[i * DP_TILE_STEP + t]);
    for (int i = 0; i < DP_TILE_ACROSS; i++) {
      all += right[i * DP_TILE_STEP + t] * exp(left[i * DP_TILE_STEP + t] - largest);
      seen += right[i * DP_TILE_STEP + t];
    }
    const bool blind = (a->zero_rows && seen == 0) || (a->zero_nan && all != all);
    if (t < lines && a->lse) ((L *)a->lse)[r.row + t] = (L)(blind || !a->keys ? -DP_INFINITY : largest + log(all));
    most[t] = largest;
    whole[t] = blind ? 0 : all;
  }
  dp_barrier();
}

DP_BLOCK_KERNEL(dp_attention_arguments) {
  DP_SHARED double left[DP_TILE_SHARED];
  DP_SHARED double right[DP_TILE_SHARED];
  DP_SHARED double most[DP_TILE_SIDE];
  DP_SHARED double whole[DP_TILE_SIDE];
  const dp_i64 tiles = dp_attention_tiles(a.length), l = dp_block() % tiles * DP_TILE_SIDE, lines = a.length - l;
  const dp_i64 keys = LOCAL(seen)(&a, l);
  const dp_attention_row r = dp_attention_row_of(&a, dp_block() / tiles / a.heads, dp_block() / tiles % a.heads, l);
  LOCAL(sums)(&a, r, lines, keys, left, right, most, whole);
  for (dp_i64 column = 0; column < a.v_size; column += DP_TILE_SIDE) {
    double y[DP_TILE_EACH * DP_TILE_EACH] = {0}, s[DP_TILE_EACH * DP_TILE_EACH];
    for (dp_i64 first = 0; first < keys; first += DP_TILE_SIDE) {
      LOCAL(scores)(&a, r, lines, first, left, right, s);
#pragma unroll
      for (int j = 0; j < DP_TILE_EACH; j++) {
        const dp_i64 from = first + j * DP_TILE_ACROSS, at = first + dp_tile_column(j);
        for (int i = 0; i < DP_TILE_EACH; i++) {
          const int line = dp_tile_row(i);
          const dp_attention_row own = LOCAL(row)(&a, r, i);
          const bool counts = line < lines && at < a.keys && whole[line] != 0;
          left[dp_thread() % DP_TILE_ACROSS * DP_TILE_STEP + line] =
              counts ? DP_EXPONENTIAL(s[i * DP_TILE_EACH + j] - most[line]) / whole[line] * LOCAL(keep)(&a, &own, at)
                     : 0;
        }
        LOCAL(load)
        ((const T *)a.v + r.v + from * a.v_row + column, a.v_size - column, 1, a.keys - from, a.v_row, right);
        dp_barrier();
        LOCAL(multiply)(left, right, y);
        dp_barrier();
      }
    }
    for (int i = 0; i < DP_TILE_EACH; i++)
      for (int j = 0; j < DP_TILE_EACH; j++) {
        const dp_i64 c = column + dp_tile_column(j);
        if (dp_tile_row(i) < lines && c < a.v_size)
          ((T *)a.y)[r.y + dp_tile_row(i) * a.heads * a.v_size + c] = PUT(y[i * DP_TILE_EACH + j]);
      }
  }
}
