// Memory through which a GPU gets what it cannot reach on others: a block of fixed size for each GPU, which all its
// transfers share. Private to the backend.
#ifndef DP_BACKENDS_CUDA_STAGING_H
#define DP_BACKENDS_CUDA_STAGING_H

#include "backends/cuda/gpu/gpu.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CUDA_STAGING_BYTES = 32 << 20 };

// A transfer of this GPU's needs it: allocated for the first one. *memory: its bytes. DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_cuda_staging_hold(const dp_cuda_gpu *gpu, char **memory) DP_MUST_USE;
// It does no longer: freed after the last one.
void dp_cuda_staging_drop(const dp_cuda_gpu *gpu);

// What the queue of this GPU gets between the two calls has the memory for itself.
dp_status dp_cuda_staging_claim(dp_queue *queue) DP_MUST_USE;
dp_status dp_cuda_staging_leave(dp_queue *queue) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
