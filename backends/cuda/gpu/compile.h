// CUDA C to machine code, by NVRTC or from the cache. Private to the backend.
#ifndef DP_BACKENDS_CUDA_COMPILE_H
#define DP_BACKENDS_CUDA_COMPILE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Machine code of a program for GPUs of that compute capability. The caller frees *code. It is kept in the cache
// (cache.h), by the program's text, the capability and NVRTC's version. Any thread may call this. EX_UNAVAILABLE: there
// is no NVRTC; EX_SOFTWARE: it refuses the program.
dp_status dp_cuda_compile(const char *program, int major, int minor, char **code, size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
