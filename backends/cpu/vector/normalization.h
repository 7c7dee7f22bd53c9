// Normalisation of rows of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_NORMALIZATION_H
#define DP_BACKENDS_CPU_VECTOR_NORMALIZATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// x, y, scale, bias (length); bias may be NULL. y is x, or lies apart from it.
typedef struct {
  int64_t length;
  int about_mean;  // 0: use the mean square and subtract nothing
  double epsilon;
  const float *scale, *bias;
} dp_vector_normalization;

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias. Sums are taken in float64, in an order that depends on the
// length alone. mean, invstd: where the row's are stored, or NULL.
typedef void (*dp_vector_normalize)(const dp_vector_normalization *n, const float *x, float *y, float *mean,
                                    float *invstd);

void dp_vector_normalize_avx2(const dp_vector_normalization *n, const float *x, float *y, float *mean, float *invstd);
void dp_vector_normalize_avx512(const dp_vector_normalization *n, const float *x, float *y, float *mean, float *invstd);

#ifdef __cplusplus
}
#endif
#endif
