// See taps.h. A tile of the result, some rows by one or two vectors of a block, stays in registers over all windows.
#include "backends/cpu/vector/taps.h"

#include <immintrin.h>

#include "backends/cpu/vector/isa.h"

#if defined(__AVX512F__)
typedef __m512 vector;
enum { WIDTH = 16, ROWS = 14, MOST_ROWS = 28 };  // floats of a vector; rows of the largest tiles of two and of one
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define EACH _mm512_set1_ps
#define MULTIPLY_ADD _mm512_fmadd_ps
#else
typedef __m256 vector;
enum { WIDTH = 8, ROWS = 6, MOST_ROWS = 6 };
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define EACH _mm256_set1_ps
#define MULTIPLY_ADD _mm256_fmadd_ps
#endif

// A tile of `count` rows and `vectors` vectors, one or two: constants where it is called, so that the sums stay in
// registers.
static inline __attribute__((always_inline)) void tile(const dp_tap *t, int count, int vectors, const float *block,
                                                       const float *rows, bool add, float *to, int64_t to_row) {
  const int64_t step = t->block_step * DP_TAPS_BLOCK;
  vector low[MOST_ROWS], high[MOST_ROWS];
#pragma GCC unroll 28
  for (int r = 0; r < count; r++) {
    low[r] = add ? LOAD(to + r * to_row) : EACH(0);
    if (vectors > 1) high[r] = add ? LOAD(to + r * to_row + WIDTH) : EACH(0);
  }
  for (int64_t n = 0; n < t->samples; n++)
    for (const dp_tap_run *run = t->runs; run < t->runs + t->n_runs; run++) {
      const float *from = block + n * t->block_sample + run->block * DP_TAPS_BLOCK;
      const float *by = rows + n * t->rows_sample + run->row;
      for (int64_t i = 0; i < run->count; i++, from += step, by += t->row_step) {
        const vector first = LOAD(from), second = vectors > 1 ? LOAD(from + WIDTH) : first;
        _mm_prefetch((const char *)(from + DP_TAPS_BLOCK),
                     _MM_HINT_T1);  // of the next block, if it lies beside this one
        _mm_prefetch((const char *)(from + DP_TAPS_BLOCK + 16), _MM_HINT_T1);
#pragma GCC unroll 28
        for (int r = 0; r < count; r++) {
          const vector factor = EACH(by[r * t->rows_channel]);
          low[r] = MULTIPLY_ADD(factor, first, low[r]);
          if (vectors > 1) high[r] = MULTIPLY_ADD(factor, second, high[r]);
        }
      }
    }
#pragma GCC unroll 28
  for (int r = 0; r < count; r++) {
    STORE(to + r * to_row, low[r]);
    if (vectors > 1) STORE(to + r * to_row + WIDTH, high[r]);
  }
}

// Two tiles of so many rows are faster than one of ROWS and a rest of two, whose few sums wait for each other.
enum { HALF = (ROWS + 2) / 2 };

#define TILES(count, vectors, at, WHILE)                                    \
  for (; channels >= (count) && (WHILE); channels -= (count)) {             \
    tile(t, count, vectors, t->block + (at), rows, add, to + (at), to_row); \
    rows += (count)*t->rows_channel;                                        \
    to += (count)*to_row;                                                   \
  }

// Two vectors of a block, `at` floats from its beginning.
static void columns(const dp_tap *t, int64_t at, int64_t channels, bool add, float *to, int64_t to_row) {
  const float *rows = t->rows;
  TILES(ROWS, 2, at, channels != 2 * HALF)
  TILES(HALF, 2, at, true)
  TILES(4, 2, at, true)
  TILES(2, 2, at, true)
  TILES(1, 2, at, true)
}

// The first half of a block: with AVX-512 one vector.
static void half_columns(const dp_tap *t, int64_t channels, bool add, float *to, int64_t to_row) {
#if defined(__AVX512F__)
  const float *rows = t->rows;
  TILES(MOST_ROWS, 1, 0, true)
  TILES(ROWS, 1, 0, true)
  TILES(HALF, 1, 0, true)
  TILES(4, 1, 0, true)
  TILES(1, 1, 0, true)
#else
  for (int64_t at = 0; at < DP_TAPS_BLOCK / 2; at += 2 * WIDTH) columns(t, at, channels, add, to, to_row);
#endif
}

void DP_FOR_ISA(dp_vector_tap_)(const dp_tap *tap, int64_t channels, bool add, float *to, int64_t to_row) {
  if (tap->half) {
    half_columns(tap, channels, add, to, to_row);
    return;
  }
  for (int64_t at = 0; at < DP_TAPS_BLOCK; at += 2 * WIDTH) columns(tap, at, channels, add, to, to_row);
}
