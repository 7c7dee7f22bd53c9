// Batch normalization of one channel of floats, and its gradient, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_VECTOR_BATCH_NORMALIZATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The elements of a channel: a row of `inner` floats in each of so many samples, `stride` floats from one to the next.
typedef struct {
  int64_t samples, inner, stride;
} dp_channel_rows;

// Sums are taken in float64, in an order that depends on the extents alone; other results are computed in float64 and
// rounded once. x, dy, y and dx point at the channel's first element; results lie on x or dy, or apart from both.
typedef struct {
  // The mean, and the mean of the centred squares. Of no elements both are 0.
  void (*statistics)(const dp_channel_rows *rows, const float *x, double *mean, double *variance);
  // y = (x - mean) * factor + shift
  void (*apply)(const dp_channel_rows *rows, const float *x, double mean, double factor, double shift, float *y);
  // *sum = sum(dy), *products = sum(dy * z), where z = (x - mean) * invstd
  void (*gradient_sums)(const dp_channel_rows *rows, const float *x, const float *dy, double mean, double invstd,
                        double *sum, double *products);
  // dx = scale * invstd * (dy - sum / count - z * products / count)
  void (*gradient)(const dp_channel_rows *rows, const float *x, const float *dy, double mean, double invstd,
                   double scale, double sum, double products, float *dx);
} dp_vector_batch_normalization;

extern const dp_vector_batch_normalization dp_vector_batch_normalization_avx2, dp_vector_batch_normalization_avx512;

#ifdef __cplusplus
}
#endif
#endif
