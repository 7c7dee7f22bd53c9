// The ways to the gradient of a convolution's weights, and which one is taken. Private to the folder.
#ifndef DP_BACKENDS_CUDA_CUDNN_GRAD_WEIGHT_H
#define DP_BACKENDS_CUDA_CUDNN_GRAD_WEIGHT_H

#include "backends/cuda/cudnn/convolution.h"

typedef struct {
  const char *name;                                                // in calibrations
  dp_status (*prepare)(const dp_kernel_spec *spec, void **state);  // *state NULL: it cannot be gone
  void (*release)(void *state);
  dp_status (*enqueue)(void *state, dp_queue *queue, const void *const *in, void *const *out, void *scratch);
} dp_grad_weight_way;

// By columns where they fit, else by cuDNN, which can always be gone.
extern const dp_cudnn_convolution dp_grad_weight_convolution;
extern const dp_grad_weight_way dp_grad_weight_by_columns, dp_grad_weight_by_cudnn;

uint64_t dp_grad_weight_scratch_bytes(const dp_kernel_spec *spec);
// For a gradient that fits: the way that the plan's calibration names, else by columns; while a calibration is made,
// the faster one. EX_CONFIG: the calibration names no way.
dp_status dp_grad_weight_choose(const dp_kernel_spec *spec, const dp_grad_weight_way **way) DP_MUST_USE;

#endif
