// What functions that draw random numbers are told.
#ifndef DP_BACKENDS_CUDA_KERNELS_DRAW_H
#define DP_BACKENDS_CUDA_KERNELS_DRAW_H

#include "backends/cuda/device/random.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of a shard that lies so. Indices in the whole tensor are row-major in any layout.
dp_place dp_cuda_place_in(dp_layout layout, const dp_local *local);
dp_place dp_cuda_place_of(const dp_local *local);  // of a plain shard
// seed, step: addresses on the device; step may be NULL.
dp_draw dp_cuda_draw_of(const dp_kernel_spec *spec, dp_place place, const void *seed, const void *step);
// Whether operand i, if it is there, is a whole number as the device reads it.
bool dp_cuda_is_int64(const dp_kernel_spec *spec, int i);

#ifdef __cplusplus
}
#endif
#endif
