// See low_product.h. A product is a tap of a convolution whose windows are its terms (backends/cpu/vector/taps.h): of
// one operand a block of columns, of the other rows.
#include "backends/cpu/onednn/low_product.h"

#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/block.h"
#include "backends/cpu/onednn/isa.h"

enum { BLOCK = DP_TAPS_BLOCK };
// Measured: with more rows packing pays; with fewer, blocks of A' are mostly padding.
enum { MOST_ROWS = 64, FEWEST_ROWS = 8 };
// Rows that are a multiple of PERIOD floats apart push each other out of the first cache, since a tile has more of them
// than a set: they are copied with a padding.
enum { PERIOD = 512, PADDING = 16 };
// Rows of B' and terms that are multiplied at a time: the second cache holds them and their block.
enum { ROWS = 56, TERMS = 1024 };
// More terms than these, and the blocks of A' are in no cache when they are read again.
enum { MOST_TERMS = 4096 };
// Rows of B that are a multiple of DP_BLOCK_PAGE apart are copied too, some columns and terms at a time, where more
// rows of A than a small tile has read them again. With more than MOST_COPIED oneDNN, which packs all, is as fast or
// faster.
enum { FEW_ROWS = 6, MOST_COPIED = 48, COPIED_COLUMNS = 16 * BLOCK, COPIED_TERMS = 64 };
// With AVX-512 oneDNN, which packs nothing for so few rows either, is faster with more than MOST_AVX512 of them, and
// with any where those of B are a multiple of DP_BLOCK_PAGE apart.
enum { MOST_AVX512 = 16 };

static int64_t blocks_of(int64_t count) { return (count + BLOCK - 1) / BLOCK; }

// A B, with blocks of B and rows of A. Whether B is padded changes no bit, so it does not matter here.
static bool is_upright(const dp_sgemm *p, int64_t rows) {
  const bool pages = p->n % DP_BLOCK_PAGE == 0;
  if (p->trans_a || p->trans_b || p->n % BLOCK) return false;
  if (dp_isa_holds_avx512()) return !pages && rows <= MOST_AVX512;
  return rows <= (pages ? MOST_COPIED : MOST_ROWS);
}

// A B', with blocks of A' and rows of B': the result is y'.
static bool is_lying(const dp_sgemm *p, int64_t rows) {
  return !p->trans_a && p->trans_b && rows >= FEWEST_ROWS && rows <= MOST_ROWS && p->k <= MOST_TERMS;
}

static bool is_copied(const dp_sgemm *p, int64_t rows) {
  return dp_sgemm_row_of_b(p) % DP_BLOCK_PAGE == 0 && rows > FEW_ROWS;
}

bool dp_low_product_fits(const dp_sgemm *p, const dp_sgemm_share *s, float alpha, float beta) {
  return alpha == 1 && (beta == 0 || beta == 1) && p->k > 0 && dp_block_can() &&
         (is_upright(p, s->rows) || is_lying(p, s->rows));
}

// ---- scratch, in floats ---------------------------------------------------------------------------------------------

static int64_t pitch_of(int64_t terms) { return terms + PADDING; }

// A block of A' for all terms for each BLOCK rows of A, then rows of B', then the sums of these rows.
static int64_t lying_floats(int64_t rows, int64_t k) {
  const int64_t blocks = blocks_of(dp_min_i64(rows, MOST_ROWS));
  return blocks * BLOCK * k + ROWS * pitch_of(dp_min_i64(k, TERMS)) + blocks * BLOCK * ROWS;
}

uint64_t dp_low_product_bytes(const dp_sgemm *p) {
  int64_t floats = 0;
  if (!p->trans_a && !p->trans_b) {
    floats = dp_min_i64(p->m, MOST_ROWS) * pitch_of(p->k);
    if (p->n >= DP_BLOCK_PAGE) floats += COPIED_COLUMNS * COPIED_TERMS;
  }
  if (!p->trans_a && p->trans_b) floats = lying_floats(p->m, p->k);
  return dp_align_up((uint64_t)floats * sizeof(float), DP_CPU_ALIGNMENT);
}

// ---- products -------------------------------------------------------------------------------------------------------

// `terms` terms of rows, or their copy in `room` with another pitch if they are in each other's way.
static const float *take(const float *from, int64_t rows, int64_t terms, int64_t *pitch, float *room) {
  if (*pitch % PERIOD) return from;
  dp_block_copy_rows(from, *pitch, rows, terms, room, pitch_of(terms));
  *pitch = pitch_of(terms);
  return room;
}

// The rows of `t` by copies of blocks, some terms after the others.
static void copied(const dp_sgemm *p, const dp_sgemm_share *s, const dp_tap *t, int64_t columns, const float *b,
                   bool add, float *y, float *room) {
  const int64_t row = dp_sgemm_row_of_b(p);
  for (int64_t j = 0; j < columns; j += COPIED_COLUMNS) {
    const int64_t wide = dp_min_i64(COPIED_COLUMNS, columns - j), column = s->column + j;
    for (int64_t at = 0; at < p->k; at += COPIED_TERMS) {
      const dp_tap_run all = {0, 0, dp_min_i64(COPIED_TERMS, p->k - at)};
      dp_tap some = *t;
      some.runs = &all;
      some.rows += at;
      some.block_step = 1;
      dp_block_copy(b + at * row + column, row, all.count, wide, room);
      for (int64_t i = 0; i < wide; i += BLOCK) {
        some.block = room + i * all.count;
        dp_block_multiply(&some, s->rows, add || at > 0, y + s->row * p->n + column + i, p->n);
      }
    }
  }
}

static int64_t upright(const dp_sgemm *p, const dp_sgemm_share *s, const float *a, const float *b, bool add, float *y,
                       float *room) {
  const dp_tap_run all = {0, 0, p->k};
  dp_tap t = {.runs = &all,
              .n_runs = 1,
              .samples = 1,
              .block_step = dp_sgemm_row_of_b(p) / BLOCK,
              .rows_channel = p->k,
              .row_step = 1};
  t.rows = take(a + s->row * p->k, s->rows, p->k, &t.rows_channel, room);
  const int64_t columns = s->columns / BLOCK * BLOCK;
  if (is_copied(p, s->rows)) {
    copied(p, s, &t, columns, b, add, y, room + dp_min_i64(p->m, MOST_ROWS) * pitch_of(p->k));
    return columns;
  }
  for (int64_t j = s->column; j < s->column + columns; j += BLOCK) {
    t.block = b + j;
    dp_block_multiply(&t, s->rows, add, y + s->row * p->n + j, p->n);
  }
  return columns;
}

// The blocks of A', a row of BLOCK floats for each term; what is beyond the last row of A is 0.
static void pack(const dp_sgemm *p, const dp_sgemm_share *s, const float *a, float *blocks) {
  for (int64_t i = 0; i < s->rows; i += BLOCK, blocks += BLOCK * p->k) {
    const int64_t rows = dp_min_i64(BLOCK, s->rows - i);
    if (rows < BLOCK) memset(blocks, 0, (size_t)(BLOCK * p->k) * sizeof *blocks);
    dp_block_transpose(rows, p->k, a + (s->row + i) * p->k, p->k, blocks, BLOCK);
  }
}

// Columns [column, column + count) of y, from or to the sums (blocks, count, BLOCK).
static void move_sums(const dp_sgemm *p, const dp_sgemm_share *s, int64_t column, int64_t count, bool in, float *y,
                      float *sums) {
  for (int64_t i = 0; i < s->rows; i += BLOCK, sums += count * BLOCK) {
    const int64_t rows = dp_min_i64(BLOCK, s->rows - i);
    float *at = y + (s->row + i) * p->n + column;
    if (in)
      dp_block_transpose(rows, count, at, p->n, sums, BLOCK);
    else
      dp_block_transpose(count, rows, sums, BLOCK, at, p->n);
  }
}

static int64_t lying(const dp_sgemm *p, const dp_sgemm_share *s, const float *a, const float *b, bool add, float *y,
                     float *room) {
  const int64_t blocks = blocks_of(s->rows);
  float *copy = room + blocks * BLOCK * p->k, *sums = copy + ROWS * pitch_of(dp_min_i64(p->k, TERMS));
  pack(p, s, a, room);
  for (int64_t j = 0; j < s->columns; j += ROWS) {
    const int64_t column = s->column + j, count = dp_min_i64(ROWS, s->columns - j);
    if (add) move_sums(p, s, column, count, true, y, sums);
    for (int64_t at = 0; at < p->k; at += TERMS) {
      const dp_tap_run all = {0, 0, dp_min_i64(TERMS, p->k - at)};
      dp_tap t = {.runs = &all, .n_runs = 1, .samples = 1, .block_step = 1, .rows_channel = p->k, .row_step = 1};
      t.rows = take(b + column * p->k + at, count, all.count, &t.rows_channel, copy);
      for (int64_t i = 0; i < blocks; i++) {
        t.block = room + (i * p->k + at) * BLOCK;
        t.half = s->rows - i * BLOCK <= BLOCK / 2;
        dp_block_multiply(&t, count, add || at > 0, sums + i * count * BLOCK, BLOCK);
      }
    }
    move_sums(p, s, column, count, false, y, sums);
  }
  return s->columns;
}

int64_t dp_low_product_run(const dp_sgemm *p, const dp_sgemm_share *s, const float *a, const float *b, float beta,
                           float *y, void *room) {
  return (p->trans_b ? lying : upright)(p, s, a, b, beta == 1, y, room);
}
