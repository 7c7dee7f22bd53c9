// Memory of the GPUs, and of the host where all of them reach it. Private to the backend.
#ifndef DP_BACKENDS_CUDA_MEMORY_H
#define DP_BACKENDS_CUDA_MEMORY_H

#include "backends/cuda/gpu/gpu.h"
#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// What is kept of each GPU's memory for CUDA's libraries and for machine code, and, where there are several, for NCCL:
// by its source a communicator of 16 channels takes up to some 190 MiB of each GPU, and a GPU is in one for each axis
// of the mesh and for each neighbour in a pipeline. On an H200, 536 to 559 MiB are in use beside the arenas, of which
// the context takes its part before free memory is asked for; NCCL between GPUs has not been measured.
enum { DP_CUDA_RESERVE_BYTES = 256 << 20, DP_CUDA_RESERVE_NCCL_BYTES = 768 << 20 };

// Zeroed memory of a GPU. DP_EX_MEMORY: it has none left. EX_UNAVAILABLE.
dp_status dp_cuda_gpu_allocate(const dp_cuda_gpu *gpu, uint64_t bytes, void **memory) DP_MUST_USE;
void dp_cuda_gpu_release(const dp_cuda_gpu *gpu, void *memory);
// Zeroes memory of a GPU; returns when done. DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_cuda_gpu_zero(const dp_cuda_gpu *gpu, void *memory, uint64_t bytes) DP_MUST_USE;
// Copies from the host; returns when done. EX_UNAVAILABLE.
dp_status dp_cuda_gpu_upload(const dp_cuda_gpu *gpu, void *to, const void *from, uint64_t bytes) DP_MUST_USE;

// As dp_backend has them.
void *dp_cuda_allocate(dp_place place, uint64_t bytes, uint64_t alignment);
dp_status dp_cuda_refusal(void) DP_MUST_USE;
void dp_cuda_release(dp_place place, void *memory, uint64_t bytes);
int dp_cuda_memory(dp_place place, uint64_t *bytes);
const char *dp_cuda_memory_name(int memory);
dp_status dp_cuda_upload(int device, void *to, const void *from, uint64_t bytes) DP_MUST_USE;
dp_status dp_cuda_download(int device, void *to, const void *from, uint64_t bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
