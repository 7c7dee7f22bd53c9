// The choice of kernels, as far as others need it.
#ifndef DP_PASSES_EMIT_KERNELS_H
#define DP_PASSES_EMIT_KERNELS_H

#include "passes/base/pass.h"

// The most threads per instruction: --threads, or the machine's default for the number of devices.
int dp_kernels_threads(const dp_compile *compile);

// Holds the target's libraries to --isa, before any kernel is asked. EX_USAGE: the target has no such choice.
dp_status dp_kernels_hold_isa(const dp_compile *compile) DP_MUST_USE;

// What the kernel of a compute node is told: of the largest part on any device and in any micro-batch. It is allocated
// from `arena`.
dp_kernel_spec dp_kernels_spec(const dp_compile *compile, int threads, dp_arena *arena, const dp_node *node);
// The target's best kernel for it; NULL: none.
const dp_kernel *dp_kernels_select(const dp_compile *compile, const dp_kernel_spec *spec);

#endif
