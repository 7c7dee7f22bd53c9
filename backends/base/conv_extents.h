// The extents of a convolution, or of its gradients, on this device.
#ifndef DP_BACKENDS_BASE_CONV_EXTENTS_H
#define DP_BACKENDS_BASE_CONV_EXTENTS_H

#include "backends/base/window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_window window;
  int64_t samples;
  int64_t groups;                  // on this device
  int64_t x_channels, y_channels;  // on this device
  int64_t x_group, y_group;        // channels in a group
} dp_conv;

// x (N, C, ...), w (M, C/group, ...): operands or results.
dp_status dp_conv_make(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_conv *conv);

#ifdef __cplusplus
}
#endif
#endif
