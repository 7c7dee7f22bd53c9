// Batch normalization of one channel. See batch_normalization.h.
#include "backends/cpu/vector/batch_normalization.h"

#include "backends/cpu/vector/isa.h"

// Sums are taken in lanes, since compilers may not reorder them.
enum { LANES = 16 };

static double total(const double lanes[LANES]) {
  double sum = 0;
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

// Adds TERM, an expression of `at`, for each of `count` elements to the lanes.
#define EACH_IN_LANES(count, at, lanes, TERM)   \
  do {                                          \
    int64_t j_ = 0;                             \
    for (; j_ + LANES <= (count); j_ += LANES)  \
      for (int i_ = 0; i_ < LANES; i_++) {      \
        const int64_t at = j_ + i_;             \
        (lanes)[i_] += (TERM);                  \
      }                                         \
    for (int i_ = 0; j_ + i_ < (count); i_++) { \
      const int64_t at = j_ + i_;               \
      (lanes)[i_] += (TERM);                    \
    }                                           \
  } while (0)

// Lanes of one row, so that they stay in registers while it lasts; a row shorter than they are has no need of them.
#define ADD_ROW(count, at, lanes, TERM)                               \
  do {                                                                \
    double sums_[LANES] = {0};                                        \
    if ((count) < LANES) {                                            \
      for (int64_t at = 0; at < (count); at++) (lanes)[at] += (TERM); \
      break;                                                          \
    }                                                                 \
    EACH_IN_LANES(count, at, sums_, TERM);                            \
    for (int i = 0; i < LANES; i++) (lanes)[i] += sums_[i];           \
  } while (0)

static void add_row(const float *x, int64_t count, double lanes[LANES]) { ADD_ROW(count, at, lanes, (double)x[at]); }

static void add_squares(const float *x, int64_t count, double mean, double lanes[LANES]) {
  ADD_ROW(count, at, lanes, ((double)x[at] - mean) * ((double)x[at] - mean));
}

static void add_products(const float *x, const float *dy, int64_t count, double mean, double lanes[LANES]) {
  ADD_ROW(count, at, lanes, (double)dy[at] * ((double)x[at] - mean));
}

static void statistics(const dp_channel_rows *rows, const float *x, double *mean, double *variance) {
  const double count = (double)(rows->samples * rows->inner);
  double sums[LANES] = {0}, squares[LANES] = {0};
  for (int64_t n = 0; n < rows->samples; n++) add_row(x + n * rows->stride, rows->inner, sums);
  *mean = count > 0 ? total(sums) / count : 0;
  for (int64_t n = 0; n < rows->samples; n++) add_squares(x + n * rows->stride, rows->inner, *mean, squares);
  *variance = count > 0 ? total(squares) / count : 0;
}

static void apply(const dp_channel_rows *rows, const float *x, double mean, double factor, double shift, float *y) {
  for (int64_t n = 0; n < rows->samples; n++) {
    const int64_t first = n * rows->stride;
    DP_INDEPENDENT
    for (int64_t at = first; at < first + rows->inner; at++) y[at] = (float)(((double)x[at] - mean) * factor + shift);
  }
}

static void gradient_sums(const dp_channel_rows *rows, const float *x, const float *dy, double mean, double invstd,
                          double *sum, double *products) {
  double sums[LANES] = {0}, of_products[LANES] = {0};
  for (int64_t n = 0; n < rows->samples; n++) {
    add_row(dy + n * rows->stride, rows->inner, sums);
    add_products(x + n * rows->stride, dy + n * rows->stride, rows->inner, mean, of_products);
  }
  *sum = total(sums);
  *products = total(of_products) * invstd;
}

static void gradient(const dp_channel_rows *rows, const float *x, const float *dy, double mean, double invstd,
                     double scale, double sum, double products, float *dx) {
  const double count = (double)(rows->samples * rows->inner), factor = scale * invstd;
  const double shift = sum / count, slope = invstd * products / count;
  for (int64_t n = 0; n < rows->samples; n++) {
    const int64_t first = n * rows->stride;
    DP_INDEPENDENT
    for (int64_t at = first; at < first + rows->inner; at++)
      dx[at] = (float)(factor * ((double)dy[at] - shift - ((double)x[at] - mean) * slope));
  }
}

const dp_vector_batch_normalization DP_FOR_ISA(dp_vector_batch_normalization_) = {statistics, apply, gradient_sums,
                                                                                  gradient};
