// Loading what function.h has collected. Private to the backend.
#ifndef DP_BACKENDS_CUDA_FUNCTIONS_H
#define DP_BACKENDS_CUDA_FUNCTIONS_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Compiles and loads the functions that have been added since the last call. EX_UNAVAILABLE, EX_SOFTWARE.
dp_status dp_cuda_functions_load(void) DP_MUST_USE;

// The program that those functions make, and the others too if `all`; NULL: there are none. The caller frees it.
// DP_EX_MEMORY.
dp_status dp_cuda_functions_program(bool all, char **program) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
