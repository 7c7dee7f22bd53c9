// The sizes of types as backends/cuda/api declares them.
#include "tests/cuda/headers.h"

#include "backends/cuda/api/cublaslt.h"
#include "backends/cuda/api/driver.h"
#include "backends/cuda/api/nccl.h"
#include "backends/cuda/api/nvrtc.h"
#if __has_include("backends/cuda/api/cudnn.h")
#include "backends/cuda/api/cudnn.h"
#endif

const dp_declared_type dp_types_ours[] = {
#define DP_TYPE(type) DP_DECLARED("driver", type)
    DP_DRIVER_TYPES(DP_TYPE)
#undef DP_TYPE
#define DP_TYPE(type) DP_DECLARED("NVRTC", type)
        DP_NVRTC_TYPES(DP_TYPE)
#undef DP_TYPE
#define DP_TYPE(type) DP_DECLARED("cuBLASLt", type)
            DP_BLASLT_TYPES(DP_TYPE)
#undef DP_TYPE
#ifdef DP_CUDA_CUDNN_CALLS
#define DP_TYPE(type) DP_DECLARED("cuDNN", type)
                DP_CUDNN_TYPES(DP_TYPE)
#undef DP_TYPE
#endif
#define DP_TYPE(type) DP_DECLARED("NCCL", type)
                    DP_NCCL_TYPES(DP_TYPE)
#undef DP_TYPE
                        {NULL, NULL, 0}};

unsigned dp_nccl_magic_ours(void) { return DP_NCCL_MAGIC; }
