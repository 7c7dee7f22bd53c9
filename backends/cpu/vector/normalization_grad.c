// The gradient of a normalisation of rows of floats. See normalization_grad.h.
#include "backends/cpu/vector/normalization_grad.h"

#include <math.h>

#include "backends/cpu/vector/isa.h"
#include "backends/cpu/vector/lanes.h"

// What is taken of a row before its gradient is known. g: dy times scale.
typedef struct {
  double mean, invstd, mean_g, along;  // along: the mean of g h
} row_sums;

static row_sums sums_of(const dp_vector_normalization_grad *n, const float *x, const float *dy) {
  const double count = n->length ? (double)n->length : 1;
  const float *scale = n->scale;
  row_sums s = {0, 0, 0, 0};
  if (n->about_mean) {
    double elements[LANES] = {0}, g[LANES] = {0};
    EACH_IN_LANES(n->length, i, elements, (double)x[i]);
    EACH_IN_LANES(n->length, i, g, (double)dy[i] * (double)scale[i]);
    s.mean = total(elements) / count;
    s.mean_g = total(g) / count;
  }
  const double mean = s.mean;
  double squares[LANES] = {0}, products[LANES] = {0};
  EACH_IN_LANES(n->length, i, squares, ((double)x[i] - mean) * ((double)x[i] - mean));
  EACH_IN_LANES(n->length, i, products, (double)dy[i] * (double)scale[i] * ((double)x[i] - mean));
  s.invstd = 1 / sqrt(total(squares) / count + n->epsilon);
  s.along = total(products) * s.invstd / count;
  return s;
}

static void sum_row(int64_t length, row_sums s, const float *x, const float *dy, double *dscale) {
  DP_INDEPENDENT
  for (int64_t i = 0; i < length; i++) dscale[i] += (double)dy[i] * (((double)x[i] - s.mean) * s.invstd);
}

static void add_row(int64_t length, const float *dy, double *dbias) {
  DP_INDEPENDENT
  for (int64_t i = 0; i < length; i++) dbias[i] += (double)dy[i];
}

static void row(int64_t length, row_sums s, const float *scale, const float *x, const float *dy, float *dx) {
  DP_INDEPENDENT
  for (int64_t i = 0; i < length; i++) {
    const double h = ((double)x[i] - s.mean) * s.invstd;
    dx[i] = (float)(s.invstd * ((double)dy[i] * (double)scale[i] - s.mean_g - h * s.along));
  }
}

void DP_FOR_ISA(dp_vector_normalize_back_)(const dp_vector_normalization_grad *n, int64_t rows, const float *x,
                                           const float *dy, float *dx, double *dscale, double *dbias) {
  for (int64_t r = 0, at = 0; r < rows; r++, at += n->length) {
    const row_sums s = sums_of(n, x + at, dy + at);
    if (dscale) sum_row(n->length, s, x + at, dy + at, dscale);
    if (dbias) add_row(n->length, dy + at, dbias);
    row(n->length, s, n->scale, x + at, dy + at, dx + at);
  }
}
