// The list of GPUs of --device=cuda:LIST. Private to the backend.
#ifndef DP_BACKENDS_CUDA_GPU_LIST_H
#define DP_BACKENDS_CUDA_GPU_LIST_H

#include "backends/cuda/gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// As dp_cuda_gpus_choose has it.
dp_status dp_cuda_gpu_list_read(const char *list, const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS], int *count) DP_MUST_USE;
// All GPUs that are new enough. EX_UNAVAILABLE: there is none.
dp_status dp_cuda_gpu_list_all(const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS], int *count) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
