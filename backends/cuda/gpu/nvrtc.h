// NVRTC, loaded when it is first needed. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NVRTC_H
#define DP_BACKENDS_CUDA_NVRTC_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Begins to load it, on another thread.
void dp_cuda_nvrtc_expect(void);

// Its version. EX_UNAVAILABLE: there is no NVRTC. Any thread may call this, and the next one.
dp_status dp_cuda_nvrtc_version(int *major, int *minor) DP_MUST_USE;

// Machine code of a program, for GPUs of that compute capability. The caller frees *code. EX_UNAVAILABLE: there is no
// NVRTC; EX_SOFTWARE: it refuses the program.
dp_status dp_cuda_nvrtc_compile(const char *program, int major, int minor, char **code, size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
