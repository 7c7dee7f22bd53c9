// Kernels of convolutions and their gradients by cuDNN.
#ifndef DP_BACKENDS_CUDA_CUDNN_CONVOLUTION_H
#define DP_BACKENDS_CUDA_CUDNN_CONVOLUTION_H

#include "backends/cuda/cudnn/plan.h"
#include "backends/cuda/windows/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_cudnn_kind kind;
  const dp_cuda_conv *conv;  // which operand is what; the function for what no engine of cuDNN does
} dp_cudnn_convolution;

// Bytes of a tensor as engines may copy it: in 16 bits, those that use tensor cores pad channels to a multiple of 8. No
// engine that does without them comes near their speed.
static inline uint64_t dp_cudnn_room(dp_dtype dtype, int rank, const int64_t *extents) {
  uint64_t bytes = dp_type_bytes(dtype);
  for (int d = 0; d < rank; d++) {
    const bool pads = d == 1 && rank > 2 && dp_type_bytes(dtype) == 2;
    bytes *= (uint64_t)(pads ? (extents[d] + 7) / 8 * 8 : extents[d]);
  }
  return bytes;
}

// The workspace that engines may take, for tensors of so many bytes together: those that change layouts want room for
// all tensors and a little more, and up to a point they get it.
static inline uint64_t dp_cudnn_workspace(uint64_t bytes) {
  const uint64_t most = 1 << 30, wanted = bytes + bytes / 16 + (1 << 20);
  return wanted < most ? wanted : most;
}

// Whether the spec has what follows a convolution in a region.
bool dp_cudnn_convolution_is_followed(const dp_kernel_spec *spec);
uint64_t dp_cudnn_convolution_scratch_bytes(const dp_kernel_spec *spec);
// What cuDNN is asked. EX_DATAERR: the channels are not whole groups.
dp_status dp_cudnn_convolution_spec(const dp_kernel_spec *spec, const dp_cudnn_convolution *convolution,
                                    dp_cudnn_spec *made) DP_MUST_USE;
// *state NULL: cuDNN has no engine for the convolution with what follows it.
dp_status dp_cudnn_convolution_prepare(const dp_kernel_spec *spec, const dp_cudnn_convolution *convolution,
                                       void **state) DP_MUST_USE;
void dp_cudnn_convolution_release(void *state);
dp_status dp_cudnn_convolution_enqueue(const dp_cudnn_convolution *convolution, void *state, dp_queue *queue,
                                       const void *const *in, void *const *out, void *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
