// What kernels of convolution and pooling by functions of our own share.
#ifndef DP_BACKENDS_CUDA_WINDOWS_WINDOW_H
#define DP_BACKENDS_CUDA_WINDOWS_WINDOW_H

#include "backends/base/window.h"
#include "backends/cuda/device/images.h"
#include "backends/cuda/device/window.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_WINDOWS_TYPES = DP_FLOATS };

dp_device_window dp_cuda_window(const dp_window *window);
// Whether every place that is computed, in a plane or beside it, is an int, with room to spare.
bool dp_cuda_window_is_small(const dp_window *window);
// Of a dense tensor (N, C, ...).
dp_image_strides dp_cuda_image_strides(const dp_kernel_operand *operand);
// Adds a function that is written over the types of prelude.h, LEAST (what the maximum of nothing is), IS_NAN, and what
// `defines` defines. Its name is `name` followed by the type.
dp_status dp_cuda_window_function(const char *name, dp_dtype dtype, const char *defines, const char *source,
                                  const dp_cuda_function **function) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
