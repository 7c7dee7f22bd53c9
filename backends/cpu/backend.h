// The CPU backend: virtual devices in the memory of this process, with the kernels of dp_target_cpu.
#ifndef DP_BACKENDS_CPU_BACKEND_H
#define DP_BACKENDS_CPU_BACKEND_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_backend dp_backend_cpu;

#ifdef __cplusplus
}
#endif
#endif
