// Softmax along the classes of one sample's scores, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_CROSS_ENTROPY_H
#define DP_BACKENDS_CPU_VECTOR_CROSS_ENTROPY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Columns that are computed at a time.
enum { DP_VECTOR_COLUMNS = 64 };

// Scores x (classes, stride), of which `width` <= DP_VECTOR_COLUMNS neighbouring columns are computed. classes >= 1.
typedef struct {
  // most (width): the largest score; log_sum (width): log(sum of exp(score - most)), where exponentials are added up in
  // float64, or in float32 no more than 16 of them. NaN where a score is NaN or infinity, or all are -infinity.
  void (*log_sum)(const float *x, int64_t classes, int64_t stride, int width, float *most, double *log_sum);
  // y (classes, stride) = factor * exp(x - most - log_sum); y is x, or lies apart from it. factor (width)
  void (*softmax)(const float *x, int64_t classes, int64_t stride, int width, const float *most, const double *log_sum,
                  const float *factor, float *y);
} dp_vector_cross_entropy;

extern const dp_vector_cross_entropy dp_vector_cross_entropy_avx2, dp_vector_cross_entropy_avx512;

#ifdef __cplusplus
}
#endif
#endif
