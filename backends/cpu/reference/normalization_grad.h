// The gradients of LayerNormalization and RMSNormalization (ir/ops/normalization_grad.h): X, scale, dY -> dX, dScale,
// dB.
#ifndef DP_BACKENDS_CPU_REFERENCE_NORMALIZATION_GRAD_H
#define DP_BACKENDS_CPU_REFERENCE_NORMALIZATION_GRAD_H

#include "backends/cpu/reference/reference.h"

// The extents, of operand 0 and attribute `axis`.
typedef struct {
  int64_t rows, length;
} dp_normalization_grad_extents;

dp_normalization_grad_extents dp_normalization_grad_extents_of(const dp_kernel_spec *spec);
// For dp_kernel: the statistics of all rows.
uint64_t dp_normalization_grad_scratch_bytes(const dp_kernel_spec *spec);
// dX may lie on X.
dp_status dp_normalization_grad_run(const dp_call *call, bool about_mean) DP_MUST_USE;

#endif
