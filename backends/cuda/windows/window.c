// See window.h.
#include "backends/cuda/windows/window.h"

#include <stdio.h>

dp_device_window dp_cuda_window(const dp_window *window) {
  dp_device_window w;
  for (int d = 0; d < 3; d++) {
    w.x[d] = window->x[d];
    w.y[d] = window->y[d];
    w.kernel[d] = window->kernel[d];
    w.stride[d] = window->stride[d];
    w.dilation[d] = window->dilation[d];
    w.pad[d] = window->pad[d];
    w.pad_end[d] = window->pad_end[d];
  }
  return w;
}

dp_status dp_cuda_window_function(const char *name, dp_dtype dtype, const char *source,
                                  const dp_cuda_function **function) {
  static const struct {
    const char *name, *defines;
  } types[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = {"float32", "#define T float\n#define LEAST (-(T)1 / (T)0)\n#define IS_NAN(X) ((X) != (X))\n"},
      [DP_FLOAT64] = {"float64", "#define T double\n#define LEAST (-(T)1 / (T)0)\n#define IS_NAN(X) ((X) != (X))\n"},
      [DP_INT8] = {"int8", "#define T signed char\n#define LEAST 0\n#define IS_NAN(X) 0\n"},
      [DP_UINT8] = {"uint8", "#define T unsigned char\n#define LEAST 0\n#define IS_NAN(X) 0\n"},
  };
  char whole[64];
  snprintf(whole, sizeof whole, "%s_%s", name, types[dtype].name);
  return dp_cuda_function_add(whole, types[dtype].defines, source, function);
}
