// Sums of floats over some dims. See sums.h.
#include "backends/cpu/vector/sums.h"

#include "backends/cpu/vector/isa.h"
#include "backends/cpu/vector/lanes.h"

enum { COLUMNS = 256, ROWS = 64 };  // that are summed side by side, so that memory is read in order

static void sum_columns(int64_t outer, int64_t columns, int64_t stride, const float *x, float *y) {
  double sums[COLUMNS] = {0};
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < columns; c++) sums[c] += (double)x[o * stride + c];
  for (int64_t c = 0; c < columns; c++) y[c] = (float)sums[c];
}

static void add_row(const float *x, int64_t count, double lanes[LANES]) { ADD_ROW(count, at, lanes, (double)x[at]); }

static void sum_rows(int64_t outer, int64_t rows, int64_t inner, int64_t stride, const float *x, float *y) {
  double lanes[ROWS][LANES] = {{0}};
  for (int64_t o = 0; o < outer; o++)
    for (int64_t r = 0; r < rows; r++) add_row(x + o * stride + r * inner, inner, lanes[r]);
  for (int64_t r = 0; r < rows; r++) y[r] = (float)total(lanes[r]);
}

void DP_FOR_ISA(dp_vector_sums_)(int64_t outer, int64_t kept, int64_t inner, int64_t stride, const float *x, float *y) {
  const int64_t most = inner == 1 ? COLUMNS : ROWS;
  for (int64_t k = 0; k < kept; k += most) {
    const int64_t count = kept - k < most ? kept - k : most;
    if (inner == 1)
      sum_columns(outer, count, stride, x + k, y + k);
    else
      sum_rows(outer, count, inner, stride, x + k * inner, y + k);
  }
}
