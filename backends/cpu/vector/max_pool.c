// Pooling by the largest element. See max_pool.h.
#include "backends/cpu/vector/max_pool.h"

#include <math.h>

#include "backends/cpu/vector/isa.h"

// The elements of x along dim d that window i covers: [*lo, *hi).
static inline void cover(const dp_plane_window *w, int d, int64_t i, int64_t *lo, int64_t *hi) {
  const int64_t first = i * w->stride[d] - w->pad[d], end = first + w->kernel[d];
  *lo = first < 0 ? 0 : first;
  *hi = end < w->x[d] ? end : w->x[d];
}

static inline float larger(float a, float b) { return b > a || b != b ? b : a; }

// NaN stays: it is not less than anything, and `larger` takes it wherever it stands.
static inline float largest(float a, float b) { return a != a ? a : larger(a, b); }

// most[c] = the largest of rows [lo, hi) of column c.
static void pool_rows(const float *x, int64_t columns, int64_t lo, int64_t hi, float *restrict most) {
  for (int64_t c = 0; c < columns; c++) most[c] = x[lo * columns + c];
  for (int64_t r = lo + 1; r < hi; r++)
    for (int64_t c = 0; c < columns; c++) most[c] = largest(most[c], x[r * columns + c]);
}

static void pool_columns(const dp_plane_window *w, const float *most, float *restrict y) {
  for (int64_t j = 0; j < w->y[1]; j++) {
    int64_t lo, hi;
    cover(w, 1, j, &lo, &hi);
    float m = most[lo];
    for (int64_t c = lo + 1; c < hi; c++) m = largest(m, most[c]);
    y[j] = m;
  }
}

// Windows of two columns side by side, the usual ones.
static void pool_pairs(const float *most, int64_t count, float *restrict y) {
  for (int64_t j = 0; j < count; j++) y[j] = largest(most[2 * j], most[2 * j + 1]);
}

static inline int in_pairs(const dp_plane_window *w, int d) {
  return w->kernel[d] == 2 && w->stride[d] == 2 && w->pad[d] == 0 && 2 * w->y[d] <= w->x[d];
}

// ---- windows of 2 x 2 on short rows, which would end before a vector is full ----------------------------------------

enum { SHORT = 32, SIDE_BY_SIDE = 512 };  // floats: of a row, of the rows that are put side by side

static inline int on_short_rows(const dp_plane_window *w) {
  return in_pairs(w, 0) && in_pairs(w, 1) && w->x[1] <= SHORT;
}

static void copy(const float *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; i++) to[i] = from[i];
}

// Puts what `count` rows of windows cover from row i on side by side: their upper rows, and their lower ones
// SIDE_BY_SIDE floats on. `scatter` puts them back.
static void gather(const dp_plane_window *w, int64_t i, int64_t count, const float *plane, float *rows) {
  const int64_t columns = w->x[1], width = 2 * w->y[1];
  for (int64_t r = 0; r < count; r++) {
    copy(plane + 2 * (i + r) * columns, width, rows + r * width);
    copy(plane + (2 * (i + r) + 1) * columns, width, rows + SIDE_BY_SIDE + r * width);
  }
}

static void scatter(const dp_plane_window *w, int64_t i, int64_t count, const float *rows, float *plane) {
  const int64_t columns = w->x[1], width = 2 * w->y[1];
  for (int64_t r = 0; r < count; r++) {
    copy(rows + r * width, width, plane + 2 * (i + r) * columns);
    copy(rows + SIDE_BY_SIDE + r * width, width, plane + (2 * (i + r) + 1) * columns);
  }
}

static int64_t rows_that_fit(const dp_plane_window *w, int64_t i) {
  const int64_t fit = SIDE_BY_SIDE / (2 * w->y[1]);
  return fit < w->y[0] - i ? fit : w->y[0] - i;
}

static void pool_short_rows(const dp_plane_window *w, const float *x, float *y) {
  float rows[2 * SIDE_BY_SIDE], most[SIDE_BY_SIDE];
  for (int64_t i = 0, count; i < w->y[0]; i += count) {
    count = rows_that_fit(w, i);
    gather(w, i, count, x, rows);
    for (int64_t c = 0; c < count * 2 * w->y[1]; c++) most[c] = largest(rows[c], rows[SIDE_BY_SIDE + c]);
    pool_pairs(most, count * w->y[1], y + i * w->y[1]);
  }
}

// ---- pooling --------------------------------------------------------------------------------------------------------

static void pool(const dp_plane_window *w, const float *x, float *y) {
  float most[DP_VECTOR_WIDEST];
  if (on_short_rows(w)) {
    pool_short_rows(w, x, y);
    return;
  }
  const int pairs = in_pairs(w, 1);
  for (int64_t i = 0; i < w->y[0]; i++) {
    int64_t lo, hi;
    cover(w, 0, i, &lo, &hi);
    pool_rows(x, w->x[1], lo, hi, most);
    if (pairs)
      pool_pairs(most, w->y[1], y + i * w->y[1]);
    else
      pool_columns(w, most, y + i * w->y[1]);
  }
}

// The largest of each channel of a block, of the pixels of these rows and columns, [first, end). `block` is constant
// where this is called, and the loops over it stay loops, of which the compiler makes a vector: unrolled by gcc they
// take ten to twenty times as long.
static inline void pool_pixel(const float *x, int64_t columns, int64_t block, const int64_t rows[2],
                              const int64_t pixels[2], float *restrict y) {
  float most[DP_VECTOR_BLOCK];
  const float *first = x + (rows[0] * columns + pixels[0]) * block;
#pragma GCC unroll 1
  for (int64_t c = 0; c < block; c++) most[c] = first[c];
  for (int64_t r = rows[0]; r < rows[1]; r++)
    for (int64_t p = pixels[0]; p < pixels[1]; p++)
#pragma GCC unroll 1
      for (int64_t c = 0; c < block; c++) most[c] = largest(most[c], x[(r * columns + p) * block + c]);
#pragma GCC unroll 1
  for (int64_t c = 0; c < block; c++) y[c] = most[c];
}

static inline void pool_block(const dp_plane_window *w, int64_t block, const float *x, float *y) {
  for (int64_t i = 0; i < w->y[0]; i++)
    for (int64_t j = 0; j < w->y[1]; j++, y += block) {
      int64_t rows[2], pixels[2];
      cover(w, 0, i, &rows[0], &rows[1]);
      cover(w, 1, j, &pixels[0], &pixels[1]);
      pool_pixel(x, w->x[1], block, rows, pixels, y);
    }
}

static void pool_8(const dp_plane_window *w, const float *x, float *y) { pool_block(w, 8, x, y); }
static void pool_16(const dp_plane_window *w, const float *x, float *y) { pool_block(w, 16, x, y); }

// `first` where a is the first largest of a and b, else `second`.
static inline float choose(float a, float b, float first, float second) {
  const float chosen = b <= a ? first : second;
  return a != a ? first : chosen;
}

// The gradient of a row of windows of 2 x 2, side by side. x, dx: the upper of their two rows.
static void spread_squares(const float *restrict x, int64_t columns, int64_t count, const float *restrict dy,
                           float *restrict dx) {
  const float *restrict x_low = x + columns;
  float *restrict dx_low = dx + columns;
  for (int64_t j = 0; j < count; j++) {
    const float a = x[2 * j], b = x[2 * j + 1], c = x_low[2 * j], d = x_low[2 * j + 1], g = dy[j];
    const float top = largest(a, b), low = largest(c, d);
    const float above = choose(top, low, g, 0), below = choose(top, low, 0, g);
    dx[2 * j] = choose(a, b, above, 0);
    dx[2 * j + 1] = choose(a, b, 0, above);
    dx_low[2 * j] = choose(c, d, below, 0);
    dx_low[2 * j + 1] = choose(c, d, 0, below);
  }
}

static void spread_short_rows(const dp_plane_window *w, const float *x, const float *dy, float *dx) {
  float rows[2 * SIDE_BY_SIDE], gradients[2 * SIDE_BY_SIDE];
  for (int64_t i = 0, count; i < w->y[0]; i += count) {
    count = rows_that_fit(w, i);
    gather(w, i, count, x, rows);
    spread_squares(rows, SIDE_BY_SIDE, count * w->y[1], dy + i * w->y[1], gradients);
    scatter(w, i, count, gradients, dx);
  }
}

// The gradient of a row of windows that cover the rows [top, bottom).
static void spread(const dp_plane_window *w, int64_t top, int64_t bottom, const float *x, const float *dy, float *dx) {
  const int64_t columns = w->x[1];
  for (int64_t j = 0; j < w->y[1]; j++) {
    int64_t lo, hi;
    cover(w, 1, j, &lo, &hi);
    int64_t best = top * columns + lo;
    float most = x[best];
    for (int64_t r = top; r < bottom; r++)
      for (int64_t c = lo; c < hi; c++) {
        const float value = x[r * columns + c];
        // A choice and no branch, which could not be predicted.
        const int wins = !(value <= most) & (most == most);
        best = wins ? r * columns + c : best;
        most = wins ? value : most;
      }
    dx[best] += dy[j];
  }
}

static void gradient(const dp_plane_window *w, const float *x, const float *dy, float *dx) {
  const int64_t columns = w->x[1];
  const int squares = in_pairs(w, 0) && in_pairs(w, 1);
  for (int64_t i = 0; i < w->x[0] * columns; i++) dx[i] = 0;
  if (on_short_rows(w)) {
    spread_short_rows(w, x, dy, dx);
    return;
  }
  for (int64_t i = 0; i < w->y[0]; i++) {
    int64_t top, bottom;
    cover(w, 0, i, &top, &bottom);
    if (squares)
      spread_squares(x + top * columns, columns, w->y[1], dy + i * w->y[1], dx + top * columns);
    else
      spread(w, top, bottom, x, dy + i * w->y[1], dx);
  }
}

const dp_vector_max_pool DP_FOR_ISA(dp_vector_max_pool_) = {pool, pool_8, pool_16, gradient};
