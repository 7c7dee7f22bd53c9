// Windows of convolutions and pooling, with three spatial dims: leading dims are 1 where the operator has fewer.
#ifndef DP_BACKENDS_BASE_WINDOW_H
#define DP_BACKENDS_BASE_WINDOW_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Window o of the result covers x[o * stride - pad + t * dilation], t in [0, kernel).
typedef struct {
  int64_t x[3], y[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
  int64_t x_plane, y_plane, kernel_plane;  // elements of one channel
} dp_window;

// Reads the node's attributes and the extents (N, C, ...) of x; w: the weights' (M, C, ...), NULL: attribute
// kernel_shape.
dp_status dp_window_make(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_window *window);

#ifdef __cplusplus
}
#endif
#endif
