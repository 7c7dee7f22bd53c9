// The GPU that the process has opened. All devices of a plan are on it. Private to the backend.
#ifndef DP_BACKENDS_CUDA_GPU_H
#define DP_BACKENDS_CUDA_GPU_H

#include "backends/cuda/gpu/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  CUdevice device;
  CUcontext context;
  char name[256];
  int ordinal;
  int major, minor;  // compute capability
  int multiprocessors;
  size_t bytes;  // of its memory
} dp_cuda_gpu;

// Opens the GPU of that number, once for the process. EX_UNAVAILABLE: there is none, it is too old, or another one is
// open.
dp_status dp_cuda_gpu_open(int ordinal) DP_MUST_USE;
// The open GPU; NULL: none is. Any thread may call this.
const dp_cuda_gpu *dp_cuda_gpu_opened(void);
// The open GPU. Its context is made current to the calling thread.
const dp_cuda_gpu *dp_cuda_gpu_use(void);

#ifdef __cplusplus
}
#endif
#endif
