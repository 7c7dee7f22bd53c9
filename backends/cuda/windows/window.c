// See window.h.
#include "backends/cuda/windows/window.h"

#include <limits.h>
#include <stdio.h>

#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

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

bool dp_cuda_window_is_small(const dp_window *w) {
  enum { MOST = INT_MAX / 4 };
  int64_t x = 1, y = 1;
  for (int d = 0; d < 3; d++) {
    const int64_t numbers[] = {w->x[d], w->y[d], w->kernel[d], w->stride[d], w->dilation[d], w->pad[d], w->pad_end[d]};
    for (size_t i = 0; i < DP_COUNT(numbers); i++)
      if (numbers[i] < 0 || numbers[i] > MOST) return false;
    if ((w->kernel[d] - 1) * w->dilation[d] > MOST || w->y[d] * w->stride[d] > MOST) return false;
    x *= w->x[d];
    y *= w->y[d];
    if (x > MOST || y > MOST) return false;
  }
  return true;
}

dp_image_strides dp_cuda_image_strides(const dp_kernel_operand *operand) {
  const dp_local *x = &operand->local;
  const int64_t channels = x->extents[1], plane = dp_product(x->extents, 2, x->rank);
  const bool last = operand->layout == DP_LAYOUT_NHWC;
  return (dp_image_strides){channels * plane, last ? 1 : plane, last ? channels : 1};
}

dp_status dp_cuda_window_function(const char *name, dp_dtype dtype, const char *defines, const char *source,
                                  const dp_cuda_function **function) {
  static const char floats[] = "#define LEAST (-(W)1 / (W)0)\n#define IS_NAN(X) ((X) != (X))\n";
  static const char integers[] = "#define LEAST 0\n#define IS_NAN(X) 0\n";
  char whole[64], all[2560];
  snprintf(whole, sizeof whole, "%s_%s", name, dp_type_name(dtype));
  snprintf(all, sizeof all, "%s%s%s", dp_cuda_type_of(dtype)->defines, dp_type_is_float(dtype) ? floats : integers,
           defines);
  return dp_cuda_function_add(whole, all, source, function);
}
