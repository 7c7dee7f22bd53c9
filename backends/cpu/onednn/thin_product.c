// See thin_product.h. A product is a tap of a convolution whose windows are its terms (backends/cpu/vector/taps.h): of
// B a block of columns, of A' as many rows as a tile has. Both are copied, for as many columns as the second cache
// holds.
#include "backends/cpu/onednn/thin_product.h"

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/block.h"

enum { BLOCK = DP_TAPS_BLOCK };
// Measured: with more terms, or a result that caches hold, oneDNN is faster.
enum { MOST_TERMS = 128, FEWEST_RESULTS = 1 << 22 };
// Rows of a tile, how far apart those of a term are in its copy, and columns that are multiplied at a time.
enum { TILE = 14, PITCH = 16, COLUMNS = 8 * BLOCK };

bool dp_thin_product_fits(const dp_sgemm *p, const dp_sgemm_share *s, float alpha, float beta) {
  return p->trans_a && !p->trans_b && p->n % DP_BLOCK_PAGE == 0 && p->m * p->n >= FEWEST_RESULTS && p->k > 0 &&
         p->k <= MOST_TERMS && s->rows >= TILE && s->columns >= BLOCK && alpha == 1 && (beta == 0 || beta == 1) &&
         dp_isa_holds_avx512();
}

uint64_t dp_thin_product_bytes(const dp_sgemm *p) {
  const int64_t floats = dp_min_i64(p->k, MOST_TERMS) * (PITCH + COLUMNS);
  if (!p->trans_a || p->trans_b || p->n < DP_BLOCK_PAGE) return 0;
  return dp_align_up((uint64_t)floats * sizeof(float), DP_CPU_ALIGNMENT);
}

int64_t dp_thin_product_run(const dp_sgemm *p, const dp_sgemm_share *s, const float *a, const float *b, float beta,
                            float *y, void *room) {
  const dp_tap_run all = {0, 0, p->k};
  float *rows = room, *blocks = rows + p->k * PITCH;
  dp_tap t = {
      .runs = &all, .n_runs = 1, .samples = 1, .block_step = 1, .rows = rows, .rows_channel = 1, .row_step = PITCH};
  const int64_t columns = s->columns / BLOCK * BLOCK;
  for (int64_t j = 0; j < columns; j += COLUMNS) {
    const int64_t wide = dp_min_i64(COLUMNS, columns - j), column = s->column + j;
    dp_block_copy(b + column, dp_sgemm_row_of_b(p), p->k, wide, blocks);
    for (int64_t i = s->row; i < s->row + s->rows; i += TILE) {
      const int64_t count = dp_min_i64(TILE, s->row + s->rows - i);
      dp_block_copy_rows(a + i, p->m, p->k, count, rows, PITCH);
      for (int64_t k = 0; k < wide; k += BLOCK) {
        t.block = blocks + k * p->k;
        dp_block_multiply(&t, count, beta == 1, y + i * p->n + column + k, p->n);
      }
    }
  }
  return columns;
}
