// The launches of batch normalization and its gradient. Plain tensors take two: sums of each channel by several blocks,
// as many as the extents ask for, and what uses them, where every block joins those of its channel. In NHWC channels
// are neighbours, so that a block sums many of them, and a launch between the two joins. A thread reads and writes as
// many neighbours at once as planes, or channels, have a multiple of, up to 16 bytes; one by one, where an address is
// not aligned for that.
//
// In a region the launches also do what stands around (region_batch.h). Behind the normalization the last one does it.
// Before the gradient both do it: the first one stores what comes of it if something else needs that. Else, in 16 bits,
// it leaves a bit for each element, so that Relu's result is read once.
#ifndef DP_BACKENDS_CUDA_KERNELS_BATCH_H
#define DP_BACKENDS_CUDA_KERNELS_BATCH_H

#include "backends/base/batch_extents.h"
#include "backends/cuda/device/batch_normalization.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// Texts of functions. join: NULL for plain tensors.
typedef struct {
  const char *sums, *join, *apply;
} dp_cuda_batch_sources;

// What spec->inputs[0] needs. The state is released by free.
uint64_t dp_cuda_batch_scratch_bytes(const dp_kernel_spec *spec);
dp_status dp_cuda_batch_prepare(const dp_kernel_spec *spec, const dp_cuda_batch_sources *plain,
                                const dp_cuda_batch_sources *nhwc, void **state) DP_MUST_USE;

// For `samples` samples; the addresses are added later.
dp_batch_arguments dp_cuda_batch_arguments(const dp_kernel_spec *spec, int64_t samples, void *scratch);
// sums: false if the statistics are given.
dp_status dp_cuda_batch_launch(const void *state, dp_queue *queue, dp_batch_arguments *arguments,
                               bool sums) DP_MUST_USE;
// A vector of `channels` zeros, of the parameters' type.
dp_status dp_cuda_batch_clear(const void *state, dp_queue *queue, void *to, int64_t channels) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
