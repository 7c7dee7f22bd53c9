// The gradient of a normalisation of rows of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_NORMALIZATION_GRAD_H
#define DP_BACKENDS_CPU_VECTOR_NORMALIZATION_GRAD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// x, dy, dx (rows, length), scale (length). dx is x, or dy, or lies apart from both.
typedef struct {
  int64_t length;
  int about_mean;  // 0: the mean square is used and nothing is subtracted
  double epsilon;
  const float *scale;
} dp_vector_normalization_grad;

// dx of neighbouring rows (ir/ops/normalization_grad.h). Adds them in order to the sums of dscale and dbias, (length)
// each; NULL where they are not wanted. All is computed in float64; sums over a row are taken in an order that depends
// on the length alone.
typedef void (*dp_vector_normalize_back)(const dp_vector_normalization_grad *n, int64_t rows, const float *x,
                                         const float *dy, float *dx, double *dscale, double *dbias);

void dp_vector_normalize_back_avx2(const dp_vector_normalization_grad *n, int64_t rows, const float *x, const float *dy,
                                   float *dx, double *dscale, double *dbias);
void dp_vector_normalize_back_avx512(const dp_vector_normalization_grad *n, int64_t rows, const float *x,
                                     const float *dy, float *dx, double *dscale, double *dbias);

#ifdef __cplusplus
}
#endif
#endif
