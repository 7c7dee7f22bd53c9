// Loading what function.h has collected. Private to the backend.
#ifndef DP_BACKENDS_CUDA_FUNCTIONS_H
#define DP_BACKENDS_CUDA_FUNCTIONS_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Loads the functions that have been added since the last call onto the GPUs that they were added for; waits for those
// that are still compiled.
// EX_UNAVAILABLE, EX_SOFTWARE.
dp_status dp_cuda_functions_load(void) DP_MUST_USE;

// A function that has been added. The texts live as long as the process.
typedef struct {
  const char *name, *program;
} dp_cuda_function_text;
// All of them, in no order; the caller frees the list. DP_EX_MEMORY.
dp_status dp_cuda_functions_list(int *count, dp_cuda_function_text **list) DP_MUST_USE;

// Compiles every function that has been added, for GPUs of that compute capability; no GPU is needed. *count: how many
// there are; *bytes: their machine code. EX_UNAVAILABLE, EX_SOFTWARE.
dp_status dp_cuda_functions_compile(int major, int minor, int *count, size_t *bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
