// The choice of kernels, as far as the record of options needs it.
#ifndef DP_PASSES_EMIT_KERNELS_H
#define DP_PASSES_EMIT_KERNELS_H

#include "passes/base/pass.h"

// The most threads per instruction: --threads, or the machine's default for the number of devices.
int dp_kernels_threads(const dp_compile *compile);

#endif
