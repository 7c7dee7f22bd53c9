// See conv_tile.h. All sums of a tile stay in registers, two vectors for each window.
#include "backends/cpu/vector/conv_tile.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#include <stddef.h>

#include "backends/cpu/vector/isa.h"

enum { WIDTH = DP_CONV_BLOCK, MOST = DP_CONV_TILE_MOST };

// lines and windows are constants where it is called, so that the sums stay in registers.
static inline __attribute__((always_inline)) void compute(const dp_conv_tile *t, int lines, int windows) {
  const int count = lines * windows;
  const float *bias = t->bias;
  float *y0 = t->y[0], *y1 = t->y[1];
  __m512 low[MOST], high[MOST];
#pragma GCC unroll 14
  for (int r = 0; r < count; r++) low[r] = high[r] = _mm512_set1_ps(0);
  const float *w = t->w, *next = t->next;
  const int64_t distance = t->next_distance;
  for (const int64_t *tap = t->taps, *end = tap + t->n_taps; tap < end; tap++) {
    const float *first = t->x + *tap, *second = first + t->line;
    for (int i = 0; i < WIDTH; i++, first++, second++, w += 2 * WIDTH, next += distance) {
      const __m512 w0 = _mm512_loadu_ps(w), w1 = _mm512_loadu_ps(w + WIDTH);
      _mm_prefetch((const char *)next, _MM_HINT_T0);
#pragma GCC unroll 14
      for (int r = 0; r < count; r++) {
        const __m512 factor = _mm512_set1_ps(r < windows ? first[r * WIDTH] : second[(r - windows) * WIDTH]);
        low[r] = _mm512_fmadd_ps(factor, w0, low[r]);
        high[r] = _mm512_fmadd_ps(factor, w1, high[r]);
      }
    }
  }
  if (t->add) {
#pragma GCC unroll 14
    for (int r = 0; r < count; r++) {
      low[r] = _mm512_add_ps(_mm512_loadu_ps(y0 + r * WIDTH), low[r]);
      high[r] = _mm512_add_ps(_mm512_loadu_ps(y1 + r * WIDTH), high[r]);
    }
  } else if (bias) {
    const __m512 b0 = _mm512_loadu_ps(bias), b1 = _mm512_loadu_ps(bias + WIDTH);
#pragma GCC unroll 14
    for (int r = 0; r < count; r++) {
      low[r] = _mm512_add_ps(low[r], b0);
      high[r] = _mm512_add_ps(high[r], b1);
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < count; r++) {
    _mm512_storeu_ps(y0 + r * WIDTH, low[r]);
    _mm512_storeu_ps(y1 + r * WIDTH, high[r]);
  }
}

#define ON_LINE(N) \
  static void on_line_##N(const dp_conv_tile *t) { compute(t, 1, N); }
#define ON_TWO(N) \
  static void on_two_##N(const dp_conv_tile *t) { compute(t, 2, N); }

ON_LINE(1)
ON_LINE(2)
ON_LINE(3)
ON_LINE(4)
ON_LINE(5)
ON_LINE(6)
ON_LINE(7)
ON_LINE(8)
ON_LINE(9)
ON_LINE(10)
ON_LINE(11)
ON_LINE(12)
ON_LINE(13)
ON_LINE(14)
ON_TWO(1)
ON_TWO(2)
ON_TWO(3)
ON_TWO(4)
ON_TWO(5)
ON_TWO(6)
ON_TWO(7)

static void copy(int64_t count, const float *from, int64_t step, float *to) {
  for (int64_t i = 0; i < count; i++) _mm512_storeu_ps(to + i * WIDTH, _mm512_loadu_ps(from + i * step));
}

const dp_vector_conv DP_FOR_ISA(dp_vector_conv_) = {
    .on_line = {NULL, on_line_1, on_line_2, on_line_3, on_line_4, on_line_5, on_line_6, on_line_7, on_line_8, on_line_9,
                on_line_10, on_line_11, on_line_12, on_line_13, on_line_14},
    .on_two = {NULL, on_two_1, on_two_2, on_two_3, on_two_4, on_two_5, on_two_6, on_two_7},
    .copy = copy,
};
#endif
