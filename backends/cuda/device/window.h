// Windows that slide over three spatial dims; leading ones have extent 1 where an operator has fewer. Device and host
// share it.
#ifndef DP_BACKENDS_CUDA_DEVICE_WINDOW_H
#define DP_BACKENDS_CUDA_DEVICE_WINDOW_H

// Window o of the result covers x[o * stride - pad + t * dilation], t in [0, kernel).
typedef struct {
  long long x[3], y[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
} dp_device_window;

#endif
