// The choice of kernels: what the record of options asks of it.
#ifndef DP_PASSES_EMIT_KERNELS_H
#define DP_PASSES_EMIT_KERNELS_H

#include "passes/base/pass.h"

// Most threads an instruction: those of --threads, or what the machine has for each device.
int dp_kernels_threads(const dp_compile *compile);

#endif
