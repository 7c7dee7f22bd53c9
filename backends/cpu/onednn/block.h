// Products and transpositions of blocks of DP_TAPS_BLOCK columns, by the instruction set that this process computes by.
#ifndef DP_BACKENDS_CPU_ONEDNN_BLOCK_H
#define DP_BACKENDS_CPU_ONEDNN_BLOCK_H

#include <string.h>

#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/vector/taps.h"
#include "backends/cpu/vector/transpose.h"

// Floats. Rows that are a multiple of it apart fall into few sets of both caches, and push each other out.
enum { DP_BLOCK_PAGE = 1024 };

// Whether this process computes by an instruction set that the two below are compiled for.
static inline bool dp_block_can(void) { return dp_isa_holds_avx512() || dp_isa_holds_avx2(); }

static inline void dp_block_multiply(const dp_tap *tap, int64_t rows, bool add, float *to, int64_t to_row) {
  (dp_isa_holds_avx512() ? dp_vector_tap_avx512 : dp_vector_tap_avx2)(tap, rows, add, to, to_row);
}

static inline void dp_block_transpose(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                                      int64_t to_stride) {
  (dp_isa_holds_avx512() ? dp_vector_transpose_avx512 : dp_vector_transpose_avx2)(rows, columns, from, from_stride, to,
                                                                                  to_stride);
}

// Copies `count` floats of each of `rows` rows that are `row` floats apart to rows that are `pitch` apart.
static inline void dp_block_copy_rows(const float *from, int64_t row, int64_t rows, int64_t count, float *to,
                                      int64_t pitch) {
  for (int64_t r = 0; r < rows; r++) memcpy(to + r * pitch, from + r * row, (size_t)count * sizeof *to);
}

// Copies blocks one after the other, each of `terms` rows: `columns` columns of rows that are `row` floats apart. Rows
// ahead are fetched, also beyond the last one, which is harmless.
static inline void dp_block_copy(const float *from, int64_t row, int64_t terms, int64_t columns, float *to) {
  for (int64_t i = 0; i < terms; i++, from += row)
    for (int64_t j = 0; j < columns; j += DP_TAPS_BLOCK) {
      __builtin_prefetch(from + 2 * row + j);
      __builtin_prefetch(from + 2 * row + j + DP_TAPS_BLOCK / 2);
      memcpy(to + j * terms + i * DP_TAPS_BLOCK, from + j, DP_TAPS_BLOCK * sizeof *to);
    }
}

#endif
