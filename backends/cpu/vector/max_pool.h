// Pooling of planes of floats by their largest element, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_MAX_POOL_H
#define DP_BACKENDS_CPU_VECTOR_MAX_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_VECTOR_WIDEST = 4096, DP_VECTOR_BLOCK = 16 };  // columns of a plane; channels of a block

// Windows on a plane x (rows, columns) that give a plane y; windows reach over the edges by the padding. Each window
// has an element of x.
typedef struct {
  int64_t x[2], y[2], kernel[2], stride[2], pad[2];
} dp_plane_window;

typedef struct {
  // y = the largest element of each window; NaN counts as the largest. x[1] <= DP_VECTOR_WIDEST.
  void (*pool)(const dp_plane_window *w, const float *x, float *y);
  // The same of 8 or 16 channels that lie side by side, for each element of a plane. Of any width.
  void (*pool_8)(const dp_plane_window *w, const float *x, float *y);
  void (*pool_16)(const dp_plane_window *w, const float *x, float *y);
  // dx (x) = zeros, to which each window's dy is added at its first largest element in row-major order.
  void (*gradient)(const dp_plane_window *w, const float *x, const float *dy, float *dx);
} dp_vector_max_pool;

extern const dp_vector_max_pool dp_vector_max_pool_avx2, dp_vector_max_pool_avx512;

#ifdef __cplusplus
}
#endif
#endif
