// The gradients of LayerNormalization and RMSNormalization of float32, by backends/cpu/vector/normalization_grad.h.
//
// Rows are divided into blocks, by their number alone, so that no bit depends on the number of threads. A thread takes
// some blocks and leaves their sums over rows in scratch memory; the last one to come to an end adds all, in order.
#ifndef DP_BACKENDS_CPU_FAST_NORMALIZATION_GRAD_H
#define DP_BACKENDS_CPU_FAST_NORMALIZATION_GRAD_H

#include "backends/cpu/fast/normalization.h"

uint64_t dp_fast_normalization_grad_scratch_bytes(const dp_kernel_spec *spec);
dp_status dp_fast_normalization_grad_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
dp_status dp_fast_normalization_grad_run(const dp_call *call, bool about_mean, void *state) DP_MUST_USE;

// What these kernels have in common: all of a dp_kernel but name, op and run.
#define DP_FAST_NORMALIZATION_GRAD                                                                 \
  .domain = "dp", .priority = 5, .library = true, .parts = true, .isa = true, .in_place = true,    \
  .match = dp_fast_normalization_match, .scratch_bytes = dp_fast_normalization_grad_scratch_bytes, \
  .prepare = dp_fast_normalization_grad_prepare, .release = free

#endif
