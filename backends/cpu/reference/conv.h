// What the reference kernels of Conv and its two gradients share: extents, groups, sums in float64.
//
// Each part of a kernel sums into a plane of float64 of its own in scratch, then rounds once.
#ifndef DP_BACKENDS_CPU_REFERENCE_CONV_H
#define DP_BACKENDS_CPU_REFERENCE_CONV_H

#include "backends/cpu/reference/window.h"

typedef struct {
  dp_window window;
  int64_t samples;
  int64_t groups;                  // that this device has
  int64_t x_channels, y_channels;  // here
  int64_t x_group, y_group;        // channels of a group
} dp_conv;

// x (N, C, ...), w (M, C/group, ...): an operand or the result each.
dp_status dp_conv_make(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_conv *conv);

#endif
