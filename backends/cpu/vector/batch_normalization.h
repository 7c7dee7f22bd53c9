// Batch normalization of some channels of floats, and its gradient, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_VECTOR_BATCH_NORMALIZATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_VECTOR_CHANNELS = 64 };

// Some channels side by side, DP_VECTOR_CHANNELS at most: in each of so many samples `channels` rows of `inner` floats.
// stride: floats from one sample to the next.
typedef struct {
  int64_t samples, channels, inner, stride;
} dp_channel_rows;

// Sums are taken in float64, in an order that depends on the samples and `inner` alone; other results are computed in
// float64 and rounded once. x, dy, y and dx point at the first channel's first element; results lie on x or dy, or
// apart from both. Other arrays hold a number for each channel.
typedef struct {
  // The mean, and the mean of the centred squares. Of no elements both are 0.
  void (*statistics)(const dp_channel_rows *rows, const float *x, double *mean, double *variance);
  // y = (x - mean) * factor + shift
  void (*apply)(const dp_channel_rows *rows, const float *x, const double *mean, const double *factor,
                const double *shift, float *y);
  // sum = sum(dy), products = sum(dy * (x - mean))
  void (*gradient_sums)(const dp_channel_rows *rows, const float *x, const float *dy, const double *mean, double *sum,
                        double *products);
  // dx = (dy - shift - (x - mean) * slope) * factor
  void (*gradient)(const dp_channel_rows *rows, const float *x, const float *dy, const double *mean,
                   const double *factor, const double *shift, const double *slope, float *dx);
} dp_vector_batch_normalization;

extern const dp_vector_batch_normalization dp_vector_batch_normalization_avx2, dp_vector_batch_normalization_avx512;

#ifdef __cplusplus
}
#endif
#endif
