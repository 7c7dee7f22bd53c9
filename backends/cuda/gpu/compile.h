// CUDA C to machine code by NVRTC, kept in a cache. Private to the backend.
#ifndef DP_BACKENDS_CUDA_COMPILE_H
#define DP_BACKENDS_CUDA_COMPILE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Machine code of a program for GPUs of that compute capability. The caller frees *code. The cache is a folder,
// $XDG_CACHE_HOME/dp or ~/.cache/dp, with a file for each program, capability and version of NVRTC's; without such a
// folder, or with a damaged file in it, the program is compiled again. EX_UNAVAILABLE: there is no NVRTC; EX_SOFTWARE:
// it refuses the program.
dp_status dp_cuda_compile(const char *program, int major, int minor, char **code, size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
