// cuDNN, loaded when a plan names a kernel that needs it, or at the latest when the first one is prepared.
#ifndef DP_BACKENDS_CUDA_CUDNN_LIBRARY_H
#define DP_BACKENDS_CUDA_CUDNN_LIBRARY_H

#include "backends/cuda/api/cudnn.h"
#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
#define DP_CALL(name, parameters) cudnnStatus_t(*name) parameters;
  DP_CUDA_CUDNN_CALLS(DP_CALL)
#undef DP_CALL
} dp_cudnn_calls;

// Begins to load it, on another thread. A failure shows when it is needed.
void dp_cudnn_expect(void);
// Loads cuDNN, once for the process; any thread may call this. EX_UNAVAILABLE: it is absent.
dp_status dp_cudnn_load(const dp_cudnn_calls **calls) DP_MUST_USE;
// The process's handle for the GPU that the calling thread uses (dp_cuda_gpu_current). EX_UNAVAILABLE: cuDNN refuses.
dp_status dp_cudnn_open(cudnnHandle_t *handle) DP_MUST_USE;
// Puts a plan on a stream of the GPU that the calling thread uses. The handle has one stream at a time, so threads take
// turns.
dp_status dp_cudnn_execute(cudaStream_t stream, cudnnBackendDescriptor_t plan,
                           cudnnBackendDescriptor_t variant_pack) DP_MUST_USE;

// "cuDNN 9.10.2". Loads the library.
dp_status dp_cudnn_version(char *text, size_t room) DP_MUST_USE;
// The same as a number: 91002. Loads the library.
dp_status dp_cudnn_version_number(int *number) DP_MUST_USE;

// The failure of `call`, or DP_OK.
dp_status dp_cudnn_check(cudnnStatus_t status, const char *call) DP_MUST_USE;
// Whether a status says that cuDNN is whole but does not do this. An engine whose code cuDNN makes for the graph may
// fail to compile.
static inline bool dp_cudnn_is_unsupported(cudnnStatus_t status) {
  return ((int)status >= CUDNN_STATUS_NOT_SUPPORTED && (int)status < CUDNN_STATUS_INTERNAL_ERROR) ||
         (int)status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

#ifdef __cplusplus
}
#endif
#endif
