// A GPU of this machine, and which one a thread works with. Private to the backend.
#ifndef DP_BACKENDS_CUDA_GPU_H
#define DP_BACKENDS_CUDA_GPU_H

#include "backends/cuda/gpu/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CUDA_MOST_GPUS = 64, DP_CUDA_UUID_BYTES = 41 };

typedef struct {
  CUdevice device;
  CUcontext context;  // its primary one; NULL: it is not open
  char name[256];
  char uuid[DP_CUDA_UUID_BYTES];  // "GPU-00000000-0000-0000-0000-000000000000", as nvidia-smi -L shows it
  int ordinal;                    // the driver's number of it, below DP_CUDA_MOST_GPUS
  int major, minor;               // compute capability
  int multiprocessors;
  size_t bytes;  // of its memory
} dp_cuda_gpu;

// How many GPUs the driver shows, at most DP_CUDA_MOST_GPUS. Loads the driver. EX_UNAVAILABLE.
dp_status dp_cuda_gpu_count(int *count) DP_MUST_USE;
// What a GPU is, without opening it. It lives as long as the process. EX_UNAVAILABLE: there is none of that number.
dp_status dp_cuda_gpu_find(int ordinal, const dp_cuda_gpu **gpu) DP_MUST_USE;
// Whether plans can run on it.
bool dp_cuda_gpu_is_new(const dp_cuda_gpu *gpu);
// Opens it, once for the process. EX_UNAVAILABLE: it is too old, or the driver refuses.
dp_status dp_cuda_gpu_open(const dp_cuda_gpu *gpu) DP_MUST_USE;

// Makes an open GPU's context current to the calling thread: what the thread prepares and launches is for that GPU.
// DP_EX_MEMORY, EX_UNAVAILABLE: the driver refuses. Then dp_cuda_check gives that as the reason for what this thread's
// later calls are refused for, until a context is current again.
dp_status dp_cuda_gpu_use(const dp_cuda_gpu *gpu) DP_MUST_USE;
// The same; does nothing if this thread has used it last.
dp_status dp_cuda_gpu_enter(const dp_cuda_gpu *gpu) DP_MUST_USE;
// As dp_cuda_gpu_use, for who releases something, or has nobody to tell: a later call is refused, and says why.
void dp_cuda_gpu_try(const dp_cuda_gpu *gpu);
// The GPU that this thread has used last; NULL: none.
const dp_cuda_gpu *dp_cuda_gpu_current(void);

#ifdef __cplusplus
}
#endif
#endif
