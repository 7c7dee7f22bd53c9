// The CPU as a target: its kernels, by name, and the instruction sets that oneDNN may use on it. See ir/kernel/kernel.h.
#ifndef DP_BACKENDS_CPU_TARGET_H
#define DP_BACKENDS_CPU_TARGET_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_target dp_target_cpu;
extern const dp_kernel *const dp_cpu_kernels[];  // made by the build; ends with NULL

#ifdef __cplusplus
}
#endif
#endif
