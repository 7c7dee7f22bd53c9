// Arenas of the plan's devices, in memory that NCCL can register where its version can. Private to the backend.
//
// NCCL registers memory that it has allocated itself (ncclMemAlloc), so this takes arenas from it where every device of
// the plan has a GPU of its own, and NCCL has memory windows. Elsewhere, and if NCCL refuses, they are the driver's.
#ifndef DP_BACKENDS_CUDA_NCCL_ARENAS_H
#define DP_BACKENDS_CUDA_NCCL_ARENAS_H

#include "backends/cuda/gpu/gpu.h"
#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_nccl_arena dp_nccl_arena;
struct dp_nccl_arena {
  const dp_cuda_gpu *gpu;
  char *memory;
  uint64_t bytes;
  dp_nccl_arena *next;  // in the order of allocation
};

// Arena number k of a GPU, of those that NCCL can register; NULL: it has fewer.
const dp_nccl_arena *dp_nccl_arena_at(const dp_cuda_gpu *gpu, int k);

// As dp_backend has them.
void *dp_nccl_allocate(dp_place place, uint64_t bytes, uint64_t alignment);
void dp_nccl_release(dp_place place, void *memory, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
