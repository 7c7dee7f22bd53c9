// The parts of a kernel on threads of OpenMP: for a kernel that calls another one, whose parts the pool's threads
// cannot compute because something comes before and after them.
#ifndef DP_BACKENDS_CPU_TEAM_H
#define DP_BACKENDS_CPU_TEAM_H

#include "ir/kernel/kernel.h"

// dp_kernel.run of all spec->threads parts, or of the one that the kernel has; a failure, if any part fails.
dp_status dp_team_run(const dp_kernel *kernel, const dp_kernel_spec *spec, void *state, const void *const *in,
                      void *const *out, void *scratch) DP_MUST_USE;

#endif
