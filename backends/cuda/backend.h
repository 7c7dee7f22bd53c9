// GPUs, for dprun. All devices of a plan share the GPU that is opened.
#ifndef DP_BACKENDS_CUDA_BACKEND_H
#define DP_BACKENDS_CUDA_BACKEND_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_backend dp_backend_cuda;  // usable once dp_cuda_gpu_open has succeeded

#ifdef __cplusplus
}
#endif
#endif
