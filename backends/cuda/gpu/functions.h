// Loading what function.h has collected. Private to the backend.
#ifndef DP_BACKENDS_CUDA_FUNCTIONS_H
#define DP_BACKENDS_CUDA_FUNCTIONS_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Loads the functions that have been added since the last call; waits for those that are still compiled.
// EX_UNAVAILABLE, EX_SOFTWARE.
dp_status dp_cuda_functions_load(void) DP_MUST_USE;

// Compiles every function that has been added, for GPUs of that compute capability; no GPU is needed. *count: how many
// there are; *bytes: their machine code. EX_UNAVAILABLE, EX_SOFTWARE.
dp_status dp_cuda_functions_compile(int major, int minor, int *count, size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
