// Kernels that copy operand 0 to result 0 unchanged.
#ifndef DP_BACKENDS_CPU_REFERENCE_COPY_H
#define DP_BACKENDS_CPU_REFERENCE_COPY_H

#include "backends/cpu/reference/reference.h"

dp_status dp_copy_run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                      int part, int parts);

#endif
