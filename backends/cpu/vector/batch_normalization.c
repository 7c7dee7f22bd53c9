// Batch normalization of some channels. See batch_normalization.h.
#include "backends/cpu/vector/batch_normalization.h"

#include "backends/cpu/vector/isa.h"
#include "backends/cpu/vector/lanes.h"

static void add_row(const float *x, int64_t count, double lanes[LANES]) { ADD_ROW(count, at, lanes, (double)x[at]); }

static void add_squares(const float *x, int64_t count, double mean, double lanes[LANES]) {
  ADD_ROW(count, at, lanes, ((double)x[at] - mean) * ((double)x[at] - mean));
}

static void add_products(const float *x, const float *dy, int64_t count, double mean, double lanes[LANES]) {
  ADD_ROW(count, at, lanes, (double)dy[at] * ((double)x[at] - mean));
}

// Executes a statement for each row; n, c: its sample and channel, at: its first element.
#define EACH_ROW(rows, n, c, at)                \
  for (int64_t n = 0; n < (rows)->samples; n++) \
    for (int64_t c = 0, at = n * (rows)->stride; c < (rows)->channels; c++, at += (rows)->inner)

static void totals(const dp_channel_rows *rows, double lanes[][LANES], double divisor, double *sums) {
  for (int64_t c = 0; c < rows->channels; c++) sums[c] = total(lanes[c]) / divisor;
}

static void statistics(const dp_channel_rows *rows, const float *x, double *mean, double *variance) {
  const int64_t elements = rows->samples * rows->inner;
  const double count = (double)(elements ? elements : 1);
  double sums[DP_VECTOR_CHANNELS][LANES] = {{0}}, squares[DP_VECTOR_CHANNELS][LANES] = {{0}};
  EACH_ROW(rows, n, c, at) add_row(x + at, rows->inner, sums[c]);
  totals(rows, sums, count, mean);
  EACH_ROW(rows, n, c, at) add_squares(x + at, rows->inner, mean[c], squares[c]);
  totals(rows, squares, count, variance);
}

static void apply_row(int64_t count, const float *x, double mean, double factor, double shift, float *y) {
  DP_INDEPENDENT
  for (int64_t i = 0; i < count; i++) y[i] = (float)(((double)x[i] - mean) * factor + shift);
}

static void apply(const dp_channel_rows *rows, const float *x, const double *mean, const double *factor,
                  const double *shift, float *y) {
  EACH_ROW(rows, n, c, at) apply_row(rows->inner, x + at, mean[c], factor[c], shift[c], y + at);
}

static void gradient_sums(const dp_channel_rows *rows, const float *x, const float *dy, const double *mean, double *sum,
                          double *products) {
  double sums[DP_VECTOR_CHANNELS][LANES] = {{0}}, of_products[DP_VECTOR_CHANNELS][LANES] = {{0}};
  EACH_ROW(rows, n, c, at) {
    add_row(dy + at, rows->inner, sums[c]);
    add_products(x + at, dy + at, rows->inner, mean[c], of_products[c]);
  }
  totals(rows, sums, 1, sum);
  totals(rows, of_products, 1, products);
}

static void gradient_row(int64_t count, const float *x, const float *dy, double mean, double factor, double shift,
                         double slope, float *dx) {
  DP_INDEPENDENT
  for (int64_t i = 0; i < count; i++) dx[i] = (float)(factor * ((double)dy[i] - shift - ((double)x[i] - mean) * slope));
}

static void gradient(const dp_channel_rows *rows, const float *x, const float *dy, const double *mean,
                     const double *factor, const double *shift, const double *slope, float *dx) {
  EACH_ROW(rows, n, c, at)
  gradient_row(rows->inner, x + at, dy + at, mean[c], factor[c], shift[c], slope[c], dx + at);
}

const dp_vector_batch_normalization DP_FOR_ISA(dp_vector_batch_normalization_) = {statistics, apply, gradient_sums,
                                                                                  gradient};
