// The driver's calls, once a GPU has been opened. Private to the backend.
#ifndef DP_BACKENDS_CUDA_DRIVER_H
#define DP_BACKENDS_CUDA_DRIVER_H

#include "backends/cuda/api/driver.h"
#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
#define DP_CALL(name, parameters) CUresult(*name) parameters;
  DP_CUDA_DRIVER_CALLS(DP_CALL)
#undef DP_CALL
} dp_cuda_driver_calls;

// Filled by dp_cuda_driver_open.
extern dp_cuda_driver_calls dp_cu;

// Finds the driver and its version, without starting it: libraries of a newer CUDA than it is made for are then passed
// over. EX_UNAVAILABLE: there is none, or it is too old.
dp_status dp_cuda_driver_open(void) DP_MUST_USE;

// Opens and starts the driver, once for the process. EX_UNAVAILABLE: there is none, or it is too old.
dp_status dp_cuda_driver_load(void) DP_MUST_USE;

// What a call returned, as a failure that says what was being done. CUDA_ERROR_OUT_OF_MEMORY: DP_EX_MEMORY; all others:
// EX_UNAVAILABLE. What dp_cuda_blame was told counts instead.
dp_status dp_cuda_check(CUresult result, const char *doing) DP_MUST_USE;

// What this thread's calls will be refused for, if they are: without the context that it needs, a call gives an error
// that says nothing of the reason. CUDA_SUCCESS: nothing.
void dp_cuda_blame(CUresult cause);
// That as a failure, for a library's call that was refused; DP_OK: nothing.
dp_status dp_cuda_blamed(void) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
