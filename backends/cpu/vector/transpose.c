// Transposition of floats. See transpose.h.
#include "backends/cpu/vector/transpose.h"

#include <string.h>

#include "backends/cpu/vector/isa.h"

enum { SIDE = 8, LINE = 16 };  // of a square; of a line of the cache, which is read and written whole

typedef float row __attribute__((vector_size(SIDE * sizeof(float))));

#define HALVES(a, b, which)                                                                                   \
  __builtin_shufflevector(a, b, (which) + 0, (which) + 1, (which) + 8, (which) + 9, (which) + 4, (which) + 5, \
                          (which) + 12, (which) + 13)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define LAST(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

// A square of 8 x 8: neighbours change places, then pairs, then halves.
static inline void square(const float *from, int64_t from_stride, float *to, int64_t to_stride) {
  row r[SIDE], s[SIDE];
  for (int i = 0; i < SIDE; i++) memcpy(&r[i], from + i * from_stride, sizeof r[i]);
  for (int i = 0; i < SIDE; i += 2) {
    s[i] = LOW(r[i], r[i + 1]);
    s[i + 1] = HIGH(r[i], r[i + 1]);
  }
  for (int i = 0; i < SIDE; i += 4) {
    r[i] = HALVES(s[i], s[i + 2], 0);
    r[i + 1] = HALVES(s[i], s[i + 2], 2);
    r[i + 2] = HALVES(s[i + 1], s[i + 3], 0);
    r[i + 3] = HALVES(s[i + 1], s[i + 3], 2);
  }
  for (int i = 0; i < SIDE / 2; i++) {
    s[i] = FIRST(r[i], r[i + 4]);
    s[i + 4] = LAST(r[i], r[i + 4]);
  }
  for (int i = 0; i < SIDE; i++) memcpy(to + i * to_stride, &s[i], sizeof s[i]);
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void one_by_one(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                       int64_t to_stride) {
  for (int64_t c = 0; c < columns; c++)
    for (int64_t r = 0; r < rows; r++) to[c * to_stride + r] = from[r * from_stride + c];
}

void DP_FOR_ISA(dp_vector_transpose_)(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                                      int64_t to_stride) {
  const int64_t whole_rows = rows - rows % SIDE, whole_columns = columns - columns % SIDE;
  for (int64_t band = 0; band < whole_rows; band += LINE)
    for (int64_t block = 0; block < whole_columns; block += LINE)
      for (int64_t c = block; c < least(block + LINE, whole_columns); c += SIDE)
        for (int64_t r = band; r < least(band + LINE, whole_rows); r += SIDE)
          square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  one_by_one(rows - whole_rows, whole_columns, from + whole_rows * from_stride, from_stride, to + whole_rows,
             to_stride);
  one_by_one(rows, columns - whole_columns, from + whole_columns, from_stride, to + whole_columns * to_stride,
             to_stride);
}
