// Normalisation of rows of floats. See normalization.h.
#include "backends/cpu/vector/normalization.h"

#include <math.h>

#include "backends/cpu/vector/isa.h"

// Sums are taken in lanes, since compilers may not reorder them.
enum { LANES = 16 };

static double total(const double lanes[LANES]) {
  double sum = 0;
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

static double sum_of(const float *x, int64_t count) {
  double lanes[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] += (double)x[j + i];
  for (int i = 0; j + i < count; i++) lanes[i] += (double)x[j + i];
  return total(lanes);
}

static double squares_of(const float *x, int64_t count, double mean) {
  double lanes[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] += ((double)x[j + i] - mean) * ((double)x[j + i] - mean);
  for (int i = 0; j + i < count; i++) lanes[i] += ((double)x[j + i] - mean) * ((double)x[j + i] - mean);
  return total(lanes);
}

void DP_FOR_ISA(dp_vector_normalize_)(const dp_vector_normalization *n, const float *x, float *y, float *mean,
                                      float *invstd) {
  const double count = n->length ? (double)n->length : 1, m = n->about_mean ? sum_of(x, n->length) / count : 0;
  const double factor = 1 / sqrt(squares_of(x, n->length, m) / count + n->epsilon);
  const float *scale = n->scale, *bias = n->bias;
  if (bias) {
    DP_INDEPENDENT
    for (int64_t i = 0; i < n->length; i++)
      y[i] = (float)(((double)x[i] - m) * factor * (double)scale[i] + (double)bias[i]);
  } else {
    DP_INDEPENDENT
    for (int64_t i = 0; i < n->length; i++) y[i] = (float)(((double)x[i] - m) * factor * (double)scale[i]);
  }
  if (mean) *mean = (float)m;
  if (invstd) *invstd = (float)factor;
}
