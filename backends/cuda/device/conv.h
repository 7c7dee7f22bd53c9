// Arguments of conv.cu, conv_grad_input.cu and conv_grad_weight.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_CONV_H
#define DP_BACKENDS_CUDA_DEVICE_CONV_H

#include "backends/cuda/device/images.h"
#include "backends/cuda/device/window.h"

// x (N, C, ...), w (M, C/group, ...), bias (M) or NULL, y (N, M, ...), or their gradients: two are operands, one is the
// result, which has `count` elements. The strides of w are those of M, C/group and taps.
typedef struct {
  void *x, *w, *y;
  const void *bias;
  long long count, samples, x_channels, y_channels;
  long long x_group, y_group;  // channels in a group
  dp_image_strides x_strides, w_strides, y_strides;
  dp_device_window window;
} dp_conv_arguments;

#endif
