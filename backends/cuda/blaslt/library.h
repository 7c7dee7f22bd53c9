// cuBLASLt, loaded when a plan names a kernel that needs it, or at the latest when the first one is prepared.
#ifndef DP_BACKENDS_CUDA_BLASLT_LIBRARY_H
#define DP_BACKENDS_CUDA_BLASLT_LIBRARY_H

#include "backends/cuda/api/cublaslt.h"
#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
#define DP_CALL(name, parameters) cublasStatus_t(*name) parameters;
  DP_CUDA_BLASLT_CALLS(DP_CALL)
#undef DP_CALL
} dp_blaslt_calls;

typedef struct {
  dp_blaslt_calls calls;
  cublasLtHandle_t handle;
} dp_blaslt;

// Begins to load it, on another thread. A failure shows when it is needed.
void dp_blaslt_expect(void);

// The process's handle for the GPU that the calling thread uses (dp_cuda_gpu_current). Any thread may call this, and
// use the handle at the same time as others. EX_UNAVAILABLE: cuBLASLt is absent, or refuses.
dp_status dp_blaslt_open(const dp_blaslt **blaslt) DP_MUST_USE;

// "cuBLASLt 13.1.0". Loads the library.
dp_status dp_blaslt_version(char *text, size_t room) DP_MUST_USE;

// The failure of `call`, or DP_OK.
dp_status dp_blaslt_check(cublasStatus_t status, const char *call) DP_MUST_USE;
#define DP_BLASLT_TRY(BLASLT, CALL, ...) DP_TRY(dp_blaslt_check((BLASLT)->calls.CALL(__VA_ARGS__), #CALL))

#ifdef __cplusplus
}
#endif
#endif
