// The ways to a convolution or one of its gradients, by cuDNN and by columns and products, and which one is taken.
// Private to the folder.
#ifndef DP_BACKENDS_CUDA_CUDNN_WAYS_H
#define DP_BACKENDS_CUDA_CUDNN_WAYS_H

#include "backends/cuda/cudnn/convolution.h"

typedef struct {
  const char *name;  // in calibrations
  // *state NULL: it cannot be gone.
  dp_status (*prepare)(const dp_kernel_spec *spec, const dp_cudnn_convolution *c, void **state);
  void (*release)(void *state);
  dp_status (*enqueue)(const dp_cudnn_convolution *c, void *state, dp_queue *queue, const void *const *in,
                       void *const *out, void *scratch);
} dp_conv_way;

// By columns and products: what fits, and what scratch it takes, by dp_columns_usual.
typedef struct {
  dp_conv_way way;
  bool (*fits)(const dp_kernel_spec *spec, const dp_cudnn_convolution *c);
  uint64_t (*scratch_bytes)(const dp_kernel_spec *spec, const dp_cudnn_convolution *c);
} dp_conv_columns;

// Of a convolution and the gradient of its operand; of the gradient of its weights.
extern const dp_conv_columns dp_conv_columns_batch, dp_conv_columns_sum;

// The ways of a kernel. Where columns fit, it goes the one that the plan's calibration names, else cuDNN's or that of
// columns; while a calibration is made, the faster one. Where they do not, it goes cuDNN's.
typedef struct {
  const dp_cudnn_convolution *convolution;
  const dp_conv_columns *columns;
  bool columns_first;
} dp_conv_ways;

uint64_t dp_conv_ways_scratch_bytes(const dp_kernel_spec *spec, const dp_conv_ways *ways);
// Of a convolution with what follows it, cuDNN's is the only way; *state NULL: it has no engine for that. EX_CONFIG:
// the calibration names no way.
dp_status dp_conv_ways_prepare(const dp_kernel_spec *spec, const dp_conv_ways *ways, void **state) DP_MUST_USE;
// dp_kernel.release, enqueue and expect, which are both libraries.
void dp_conv_ways_release(void *state);
dp_status dp_conv_ways_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                               void *const *out, void *scratch) DP_MUST_USE;
void dp_conv_ways_expect(void);

#endif
