// Products of float32 matrices by oneDNN's sgemm, each thread with a rectangle of the result.
//
// For a result that is narrow or low, sgemm reads the operands where they are. Where it reads down columns and a row
// has a multiple of 256 floats, the elements of a column fall into few sets of the cache and push each other out: half
// the speed. Blocks of such rows are copied with a padding first. Measured on an EPYC with AVX2 (Zen 3).
#ifndef DP_BACKENDS_CPU_ONEDNN_SGEMM_H
#define DP_BACKENDS_CPU_ONEDNN_SGEMM_H

#include "ir/kernel/kernel.h"

// op(A) (m, k) by op(B) (k, n). The rows of A and B lie one after the other, but those of a B that is padded, which is
// not transposed: dp_sgemm_pad has copied it.
typedef struct {
  bool trans_a, trans_b;
  int64_t m, n, k;
  bool padded;
} dp_sgemm;

// A rectangle of the result.
typedef struct {
  int64_t row, rows, column, columns;
} dp_sgemm_share;

// What part `part` of `parts` computes; it may be empty.
dp_sgemm_share dp_sgemm_share_of(const dp_sgemm *sgemm, int part, int parts);
// Bytes of a padded B (k, n), which does not depend on m; 0: its rows are not in each other's way.
uint64_t dp_sgemm_padded_bytes(int64_t k, int64_t n);
void dp_sgemm_pad(int64_t k, int64_t n, const float *b, float *padded);
// Floats from one row of op(B) to the next, as it lies in memory.
int64_t dp_sgemm_row_of_b(const dp_sgemm *sgemm);

// Bytes for a part's copies. No product of smaller extents needs more.
uint64_t dp_sgemm_bytes(const dp_sgemm *sgemm);
// Its rectangle of y (m, n) = alpha * op(A) op(B) + beta * y; with beta 0, y is not read. room: dp_sgemm_bytes of its
// own, aligned as scratch is. threads: of oneDNN's own, for a caller that is the only part.
dp_status dp_sgemm_run(const dp_sgemm *sgemm, const dp_sgemm_share *share, float alpha, const float *a, const float *b,
                       float beta, float *y, void *room, int threads) DP_MUST_USE;

#endif
