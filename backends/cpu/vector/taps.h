// Sums of products over the windows of one tap of a convolution, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_TAPS_H
#define DP_BACKENDS_CPU_VECTOR_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_TAPS_BLOCK = 32 };  // channels in a block

// Windows that follow each other: elements block + i * block_step and row + i * row_step of the two operands' planes,
// i < count.
typedef struct {
  int64_t block, row, count;
} dp_tap_run;

// Of one operand a block of channels, of the other as many channels as the result has rows.
typedef struct {
  const dp_tap_run *runs;  // of each sample
  int64_t n_runs, samples;
  const float *block;  // (samples, plane, DP_TAPS_BLOCK)
  int64_t block_sample, block_step;
  const float *rows;  // plane by plane
  int64_t rows_sample, rows_channel, row_step;
  bool half;  // only the first half of the block's channels is computed
} dp_tap;

// to[r][b] = (add ? to[r][b] : 0) + sum over samples and windows of rows[r] block[b], r < channels, b < DP_TAPS_BLOCK,
// or half of it.
// to_row: floats from one row of the result to the next. Sums are taken in the order of windows.
typedef void (*dp_vector_tap)(const dp_tap *tap, int64_t channels, bool add, float *to, int64_t to_row);

void dp_vector_tap_avx2(const dp_tap *tap, int64_t channels, bool add, float *to, int64_t to_row);
void dp_vector_tap_avx512(const dp_tap *tap, int64_t channels, bool add, float *to, int64_t to_row);

#ifdef __cplusplus
}
#endif
#endif
