// Products of float32 matrices. See sgemm.h.
#include "backends/cpu/onednn/sgemm.h"

#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/low_product.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/thin_product.h"
#include "backends/cpu/reference/reference.h"
#include "ir/base/tsan.h"

// Floats: of the distance between rows that slows reading down, and of the padding. A block has at most ROWS rows of
// WIDTH floats, which the second cache holds. A copy that is read fewer than TIMES times costs more than it saves, or
// TIMES_AVX512. What is padded for good has rows of whole blocks of low products.
enum { PERIOD = 256, PADDING = 16, ROWS = 256, WIDTH = 512, TIMES = 8, TIMES_AVX512 = 64, KEPT_PADDING = 32 };
// Parts begin at multiples of so many rows or columns: two cache lines, a block of low products.
enum { UNIT = 32 };

// ---- parts ----------------------------------------------------------------------------------------------------------

static void range_of(int64_t extent, int part, int parts, int64_t *first, int64_t *count) {
  int64_t last;
  dp_part_range((extent + UNIT - 1) / UNIT, part, parts, first, &last);
  *first *= UNIT;
  *count = dp_max_i64(dp_min_i64(last * UNIT, extent) - *first, 0);
}

dp_sgemm_share dp_sgemm_share_of(const dp_sgemm *p, int part, int parts) {
  dp_sgemm_share share = {0, p->m, 0, p->n};
  if (p->m > p->n)
    range_of(p->m, part, parts, &share.row, &share.rows);
  else
    range_of(p->n, part, parts, &share.column, &share.columns);
  return share;
}

// ---- copies ---------------------------------------------------------------------------------------------------------

// Whether sgemm reads the operands of such a result where they are (oneDNN 2.6, for AVX2).
static bool is_read_in_place(int64_t m, int64_t n, int threads) {
  return threads * (1.0 / (double)m + 1.0 / (double)n) >= 0.0038;
}

static bool is_copied(int64_t columns, int64_t times) {
  return columns % PERIOD == 0 && times >= (dp_isa_holds_avx512() ? TIMES_AVX512 : TIMES);
}

// Bytes for a block, whether it is copied or not.
static uint64_t block_bytes(int64_t rows, int64_t columns, int64_t times) {
  const int64_t floats = dp_min_i64(rows, ROWS) * (dp_min_i64(columns, WIDTH) + PADDING);
  return columns < PERIOD || times < TIMES ? 0 : dp_align_up((uint64_t)floats * sizeof(float), DP_CPU_ALIGNMENT);
}

static uint64_t a_bytes(const dp_sgemm *p) { return p->trans_a ? block_bytes(p->k, p->m, p->n) : 0; }

static uint64_t b_bytes(const dp_sgemm *p) { return p->trans_b ? 0 : block_bytes(p->k, p->n, p->m); }

uint64_t dp_sgemm_bytes(const dp_sgemm *p) {
  const uint64_t copies = a_bytes(p) + b_bytes(p), low = dp_low_product_bytes(p), thin = dp_thin_product_bytes(p);
  const uint64_t own = low > thin ? low : thin;
  return copies > own ? copies : own;
}

uint64_t dp_sgemm_padded_bytes(int64_t k, int64_t n) {
  return n % PERIOD ? 0 : (uint64_t)(k * (n + KEPT_PADDING)) * sizeof(float);
}

void dp_sgemm_pad(int64_t k, int64_t n, const float *b, float *padded) {
  for (int64_t i = 0; i < k; i++, padded += n + KEPT_PADDING) {
    memcpy(padded, b + i * n, (size_t)n * sizeof *b);
    memset(padded + n, 0, KEPT_PADDING * sizeof *b);
  }
}

int64_t dp_sgemm_row_of_b(const dp_sgemm *p) {
  if (p->trans_b) return p->k;
  return p->padded ? p->n + KEPT_PADDING : p->n;
}

// An operand as it lies in memory. copy: NULL, or where blocks of it go.
typedef struct {
  const float *first;
  int64_t stride;
  bool trans;
  float *copy;
} operand;

// The block at (row, column) of op(operand), which is `rows` by `columns`; *stride: floats from one of its rows in
// memory to the next.
static const float *take(const operand *o, int64_t row, int64_t rows, int64_t column, int64_t columns,
                         int64_t *stride) {
  const float *from = o->first + (o->trans ? column * o->stride + row : row * o->stride + column);
  *stride = o->stride;
  if (!o->copy) return from;
  const int64_t lines = o->trans ? columns : rows, width = o->trans ? rows : columns;
  *stride = width + PADDING;
  dp_tsan_read_rows(from, lines, (size_t)width * sizeof *from, (size_t)o->stride * sizeof *from);
  for (int64_t i = 0; i < lines; i++) memcpy(o->copy + i * *stride, from + i * o->stride, (size_t)width * sizeof *from);
  return o->copy;
}

// ---- the product ----------------------------------------------------------------------------------------------------

static void scale(const dp_sgemm *p, const dp_sgemm_share *s, float beta, float *y) {
  for (int64_t i = s->row; i < s->row + s->rows; i++)
    for (int64_t j = s->column; j < s->column + s->columns; j++) y[i * p->n + j] = beta ? beta * y[i * p->n + j] : 0;
}

static dp_status run_library(const dp_sgemm *p, const dp_sgemm_share *s, float alpha, const float *a, const float *b,
                             float beta, float *y, void *room, int threads) {
  if (s->rows == 0 || s->columns == 0) return DP_OK;
  if (p->k == 0) scale(p, s, beta, y);
  operand left = {a, p->trans_a ? p->m : p->k, p->trans_a, NULL}, right = {b, dp_sgemm_row_of_b(p), p->trans_b, NULL};
  // By blocks also what is padded already, so that its sums are the same.
  const bool in_place = is_read_in_place(s->rows, s->columns, threads);
  const bool left_blocks = in_place && p->trans_a && is_copied(p->m, s->columns);
  const bool right_blocks = in_place && !p->trans_b && is_copied(p->n, s->rows);
  if (left_blocks) left.copy = room;
  if (right_blocks && !p->padded) right.copy = (float *)((char *)room + a_bytes(p));
  const int64_t depth = left_blocks || right_blocks ? ROWS : p->k, height = left_blocks ? WIDTH : s->rows,
                width = right_blocks ? WIDTH : s->columns;
  for (int64_t at = 0; at < p->k; at += depth) {
    const int64_t k = dp_min_i64(depth, p->k - at);
    for (int64_t i = 0; i < s->rows; i += height) {
      const int64_t row = s->row + i, rows = dp_min_i64(height, s->rows - i);
      int64_t lda, ldb;
      const float *from_a = take(&left, row, rows, at, k, &lda);
      for (int64_t j = 0; j < s->columns; j += width) {
        const int64_t column = s->column + j, columns = dp_min_i64(width, s->columns - j);
        const float *from_b = take(&right, at, k, column, columns, &ldb);
        DP_TRY(dp_primitive_sgemm(p->trans_a, p->trans_b, rows, columns, k, alpha, from_a, lda, from_b, ldb,
                                  at ? 1 : beta, y + row * p->n + column, p->n, threads));
      }
    }
  }
  return DP_OK;
}

dp_status dp_sgemm_run(const dp_sgemm *p, const dp_sgemm_share *s, float alpha, const float *a, const float *b,
                       float beta, float *y, void *room, int threads) {
  dp_sgemm_share rest = *s;
  int64_t columns = 0;
  if (threads <= 1 && dp_low_product_fits(p, s, alpha, beta))
    columns = dp_low_product_run(p, s, a, b, beta, y, room);
  else if (threads <= 1 && dp_thin_product_fits(p, s, alpha, beta))
    columns = dp_thin_product_run(p, s, a, b, beta, y, room);
  rest.column += columns;
  rest.columns -= columns;
  return run_library(p, &rest, alpha, a, b, beta, y, room, threads);
}
