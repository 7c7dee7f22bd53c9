// Compares the tables of backends/cuda/api with the toolkit's headers while it is compiled: the type of every call, the
// value of every constant. Without a toolkit there is nothing to compare.
#include "tests/cuda/headers.h"

#define DP_SAME_CALL(result, name, parameters) \
  _Static_assert(__builtin_types_compatible_p(__typeof__(name), result parameters), #name " is declared otherwise");
#define DP_SAME_CONSTANT(name, value) _Static_assert((name) == (value), #name " has another value");

#ifdef DP_CUDA_TOOLKIT

#include "backends/cuda/api/driver.h"
#define DP_CALL(name, parameters) DP_SAME_CALL(CUresult, name, parameters)
DP_CUDA_DRIVER_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_DRIVER_CONSTANTS(DP_SAME_CONSTANT)

#if __has_include(<nvrtc.h>)
#include "backends/cuda/api/nvrtc.h"
#define DP_CALL(name, parameters) DP_SAME_CALL(nvrtcResult, name, parameters)
DP_CUDA_NVRTC_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_NVRTC_CONSTANTS(DP_SAME_CONSTANT)
#endif

#if __has_include(<cublasLt.h>)
#include "backends/cuda/api/cublaslt.h"
#define DP_CALL(name, parameters) DP_SAME_CALL(cublasStatus_t, name, parameters)
DP_CUDA_BLASLT_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_BLASLT_CONSTANTS(DP_SAME_CONSTANT)
#endif

#if __has_include(<cudnn.h>) && __has_include("backends/cuda/api/cudnn.h")
#include "backends/cuda/api/cudnn.h"
#define DP_CALL(name, parameters) DP_SAME_CALL(cudnnStatus_t, name, parameters)
DP_CUDA_CUDNN_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_CUDNN_CONSTANTS(DP_SAME_CONSTANT)
#endif

#if __has_include(<nccl.h>)
#include "backends/cuda/api/nccl.h"
#define DP_CALL(name, parameters) DP_SAME_CALL(ncclResult_t, name, parameters)
DP_CUDA_NCCL_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_NCCL_CONSTANTS(DP_SAME_CONSTANT)
DP_CUDA_NCCL_LAYOUT(DP_SAME_CONSTANT)
#if NCCL_VERSION_CODE >= 22700
#define DP_CALL(name, parameters) DP_SAME_CALL(ncclResult_t, name, parameters)
DP_CUDA_NCCL_WINDOW_CALLS(DP_CALL)
#undef DP_CALL
DP_CUDA_NCCL_WINDOW_CONSTANTS(DP_SAME_CONSTANT)
#endif
_Static_assert(DP_NCCL_UNDEFINED == NCCL_CONFIG_UNDEF_INT, "what is left to NCCL is declared otherwise");
_Static_assert(sizeof(ncclConfig_t) >= DP_NCCL_CONFIG_BYTES, "a configuration is declared longer");
#endif

#endif

const dp_declared_type dp_types_toolkit[] = {
#ifdef DP_CUDA_DRIVER_CALLS
#define DP_TYPE(type) DP_DECLARED("driver", type)
    DP_DRIVER_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
#ifdef DP_CUDA_NVRTC_CALLS
#define DP_TYPE(type) DP_DECLARED("NVRTC", type)
        DP_NVRTC_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
#ifdef DP_CUDA_BLASLT_CALLS
#define DP_TYPE(type) DP_DECLARED("cuBLASLt", type)
            DP_BLASLT_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
#ifdef DP_CUDA_CUDNN_CALLS
#define DP_TYPE(type) DP_DECLARED("cuDNN", type)
                DP_CUDNN_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
#ifdef DP_CUDA_NCCL_CALLS
#define DP_TYPE(type) DP_DECLARED("NCCL", type)
                    DP_NCCL_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
                        {NULL, NULL, 0}};

unsigned dp_nccl_magic_toolkit(void) {
#if defined(DP_CUDA_TOOLKIT) && defined(DP_CUDA_NCCL_CALLS)
  const ncclConfig_t made = NCCL_CONFIG_INITIALIZER;
  return made.magic;
#else
  return 0;
#endif
}
