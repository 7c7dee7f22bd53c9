// GPUs, for dprun.
#ifndef DP_BACKENDS_CUDA_BACKEND_H
#define DP_BACKENDS_CUDA_BACKEND_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_backend dp_backend_cuda;  // on the GPUs that gpu/gpus.h says

#ifdef __cplusplus
}
#endif
#endif
