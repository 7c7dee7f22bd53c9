// Products of bfloat16 matrices. See product.h.
//
// Both matrices are packed in pairs along k, as the instruction takes them; where k is odd, the last pair ends with 0.
// A panel of the right matrix is (pairs, COLUMNS), a strip of the left one is (pairs, ROWS). What is beyond the matrix
// is 0.
#include "backends/cpu/bf16/product.h"

#include <immintrin.h>
#include <string.h>

#include "backends/cpu/vector/half_rows.h"
#include "backends/cpu/vector/transpose.h"

enum { ROWS = 12, COLUMNS = 32, WIDTH = 16, BLOCK_BYTES = 1 << 18 };  // WIDTH: floats of a vector

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t panel_bytes(int64_t k) { return divide_up(k, 2) * COLUMNS * 4; }
static int64_t strip_bytes(int64_t k) { return divide_up(k, 2) * ROWS * 4; }

// A block has as many strips as the cache holds.
static int64_t block_bytes(int64_t m, int64_t k) {
  const int64_t bytes = most(strip_bytes(k), BLOCK_BYTES);
  return divide_up(least(divide_up(m, ROWS) * strip_bytes(k), bytes), 64) * 64;
}

uint64_t dp_bf16_product_bytes(int64_t m, int64_t n, int64_t k, int parts) {
  return (uint64_t)(divide_up(n, COLUMNS) * panel_bytes(k) + parts * block_bytes(m, k));
}

// ---- packing --------------------------------------------------------------------------------------------------------

// Packs `count` of `width` lanes, from the first on: lane i takes elements i * lane + j * step of `from`, j < k.
static void pack(const uint16_t *from, int64_t lane, int64_t step, int64_t count, int64_t width, int64_t k,
                 uint16_t *to) {
  if (count < width || k % 2) memset(to, 0, (size_t)(divide_up(k, 2) * width) * 4);
  const int64_t pairs = k / 2;
  if (lane == 1) {
    for (int64_t p = 0; p < pairs; p++) {
      const uint16_t *even = from + 2 * p * step, *odd = even + step;
      uint16_t *restrict pair = to + 2 * p * width;
      for (int64_t i = 0; i < count; i++) {
        pair[2 * i] = even[i];
        pair[2 * i + 1] = odd[i];
      }
    }
  } else if (step == 1 && lane % 2 == 0 && (uintptr_t)from % sizeof(float) == 0) {
    // Pairs lie together, and are moved as floats are.
    dp_vector_transpose_avx512(count, pairs, (const float *)from, lane / 2, (float *)to, width);
  } else {
    for (int64_t i = 0; i < count; i++)
      for (int64_t p = 0; p < pairs; p++) {
        to[2 * (p * width + i)] = from[i * lane + 2 * p * step];
        to[2 * (p * width + i) + 1] = from[i * lane + (2 * p + 1) * step];
      }
  }
  for (int64_t i = 0; i < count && k % 2; i++) to[2 * (pairs * width + i)] = from[i * lane + (k - 1) * step];
}

// ---- a tile of the result -------------------------------------------------------------------------------------------

static inline __m512 add_pairs(__m512 sum, uint32_t left, __m512i right) {
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32((int)left), (__m512bh)right);
}

// sums (ROWS, COLUMNS) = strip * panel. The sums stay in registers.
static void multiply(int64_t pairs, const uint32_t *strip, const uint32_t *panel, float *sums) {
  __m512 left[ROWS], right[ROWS];
#pragma GCC unroll 12
  for (int i = 0; i < ROWS; i++) left[i] = right[i] = _mm512_setzero_ps();
  for (int64_t p = 0; p < pairs; p++, strip += ROWS, panel += COLUMNS) {
    const __m512i first = _mm512_loadu_si512(panel), second = _mm512_loadu_si512(panel + WIDTH);
#pragma GCC unroll 12
    for (int i = 0; i < ROWS; i++) {
      left[i] = add_pairs(left[i], strip[i], first);
      right[i] = add_pairs(right[i], strip[i], second);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < ROWS; i++) {
    _mm512_storeu_ps(sums + i * COLUMNS, left[i]);
    _mm512_storeu_ps(sums + i * COLUMNS + WIDTH, right[i]);
  }
}

static void round_row(const dp_bf16_product *p, int64_t row, int64_t column, int64_t count, float *sums) {
  const float alpha = p->alpha;
  for (int64_t j = 0; j < count; j++) sums[j] *= alpha;
  if (p->c.first) {
    const uint16_t *c = p->c.first + row * p->c.row + column * p->c.column;
    for (int64_t j = 0; j < count; j++) sums[j] += p->beta * dp_half_float(dp_half_from_bfloat16_(c[j * p->c.column]));
  }
  dp_half_to_bfloat16_row(count, sums, p->y + row * p->n + column);
}

static void add_row(const dp_bf16_product *p, int64_t row, int64_t column, int64_t count, const float *restrict sums) {
  float *restrict to = p->sums + row * p->sums_row + column;
  const float alpha = p->alpha, beta = p->beta;
  if (beta == 0)
    for (int64_t j = 0; j < count; j++) to[j] = alpha * sums[j];
  else
    for (int64_t j = 0; j < count; j++) to[j] = alpha * sums[j] + beta * to[j];
}

void dp_bf16_product_run(const dp_bf16_product *p, void *scratch, int part, int parts) {
  const int64_t panels = divide_up(p->n, COLUMNS), begin = panels * part / parts, end = panels * (part + 1) / parts;
  const int64_t pairs = divide_up(p->k, 2), of_panel = panel_bytes(p->k), of_strip = strip_bytes(p->k);
  char *packed = scratch, *block = packed + panels * of_panel + part * block_bytes(p->m, p->k);
  for (int64_t q = begin; q < end; q++)
    pack(p->b.first + q * COLUMNS * p->b.column, p->b.column, p->b.row, least(COLUMNS, p->n - q * COLUMNS), COLUMNS,
         p->k, (uint16_t *)(packed + q * of_panel));
  const int64_t strips = most(1, BLOCK_BYTES / most(1, of_strip));  // of a block
  float sums[ROWS * COLUMNS];
  for (int64_t row = 0; row < p->m && begin < end; row += strips * ROWS) {
    const int64_t last = least(p->m, row + strips * ROWS);
    for (int64_t i = row; i < last; i += ROWS)
      pack(p->a.first + i * p->a.row, p->a.row, p->a.column, least(ROWS, last - i), ROWS, p->k,
           (uint16_t *)(block + (i - row) / ROWS * of_strip));
    for (int64_t q = begin; q < end; q++)
      for (int64_t i = row; i < last; i += ROWS) {
        multiply(pairs, (const uint32_t *)(block + (i - row) / ROWS * of_strip),
                 (const uint32_t *)(packed + q * of_panel), sums);
        for (int64_t r = i; r < least(last, i + ROWS); r++) {
          const int64_t count = least(COLUMNS, p->n - q * COLUMNS);
          if (p->sums)
            add_row(p, r, q * COLUMNS, count, sums + (r - i) * COLUMNS);
          else
            round_row(p, r, q * COLUMNS, count, sums + (r - i) * COLUMNS);
        }
      }
  }
}
