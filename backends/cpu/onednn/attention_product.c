// See attention_product.h. A block of columns of b' is copied, which the first cache holds then, and multiplied by all
// rows of a'. What is beyond the last whole block is oneDNN's.
#include "backends/cpu/onednn/attention_product.h"

#include <string.h>

#include "backends/cpu/onednn/block.h"
#include "backends/cpu/onednn/primitive.h"

// Columns of a block; with more terms the product is oneDNN's.
enum { BLOCK = DP_TAPS_BLOCK, MOST_TERMS = 256 };

int64_t dp_attention_product_bytes(const dp_attention *a) {
  (void)a;
  return MOST_TERMS * BLOCK * (int64_t)sizeof(float);
}

// A block of alpha * b', dense (k, BLOCK).
static void pack(bool trans, int64_t k, float alpha, const float *b, int64_t ldb, float *block) {
  if (trans)
    dp_block_transpose(BLOCK, k, b, ldb, block, BLOCK);
  else
    for (int64_t i = 0; i < k; i++) memcpy(block + i * BLOCK, b + i * ldb, BLOCK * sizeof *block);
  for (int64_t i = 0; i < k && alpha != 1; i++)
    for (int j = 0; j < BLOCK; j++) block[i * BLOCK + j] *= alpha;
}

dp_status dp_attention_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const void *a,
                               int64_t lda, const void *b, int64_t ldb, float beta, float *y, int64_t ldy, void *room) {
  const int64_t blocks = k > 0 && k <= MOST_TERMS && (beta == 0 || beta == 1) && dp_block_can() ? n / BLOCK : 0;
  const dp_tap_run all = {0, 0, k};
  const dp_tap tap = {.runs = &all,
                      .n_runs = 1,
                      .samples = 1,
                      .block = room,
                      .block_step = 1,
                      .rows = a,
                      .rows_channel = trans_a ? 1 : lda,
                      .row_step = trans_a ? lda : 1};
  for (int64_t column = 0; column < blocks * BLOCK; column += BLOCK) {
    pack(trans_b, k, alpha, (const float *)b + column * (trans_b ? ldb : 1), ldb, room);
    dp_block_multiply(&tap, m, beta == 1, y + column, ldy);
  }
  const int64_t done = blocks * BLOCK;
  if (done == n) return DP_OK;
  return dp_primitive_sgemm(trans_a, trans_b, m, n - done, k, alpha, a, lda,
                            (const float *)b + done * (trans_b ? ldb : 1), ldb, beta, y + done, ldy, 1);
}
