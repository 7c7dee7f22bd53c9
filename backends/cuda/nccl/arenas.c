// See arenas.h.
#include "backends/cuda/nccl/arenas.h"

#include <stdlib.h>

#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/waiting.h"
#include "backends/cuda/nccl/library.h"
#include "backends/cuda/nccl/windows.h"

static dp_nccl_arena *arenas;

const dp_nccl_arena *dp_nccl_arena_at(const dp_cuda_gpu *gpu, int k) {
  for (const dp_nccl_arena *a = arenas; a; a = a->next)
    if (a->gpu == gpu && !k--) return a;
  return NULL;
}

// Whether NCCL is to be asked for memory. If it cannot be loaded, whoever needs it says so.
static bool is_asked(dp_place place) {
  if (place.host || dp_cuda_gpus_count() < 2 || dp_cuda_gpus_count() < dp_cuda_gpus_devices()) return false;
  dp_status status = dp_nccl_load();
  dp_status_free(status);
  return !status && dp_nccl_has_windows();
}

static void *allocate(const dp_cuda_gpu *gpu, uint64_t bytes) {
  dp_nccl_arena **end = &arenas, *a = calloc(1, sizeof *a);
  void *memory = NULL;
  dp_status status = dp_cuda_gpu_use(gpu);
  if (!status && a && !dp_nccl.ncclMemAlloc(&memory, bytes)) status = dp_cuda_gpu_zero(gpu, memory, bytes);
  if (status || !memory) {
    dp_status_free(status);
    if (memory) dp_nccl.ncclMemFree(memory);
    free(a);
    return NULL;
  }
  *a = (dp_nccl_arena){gpu, memory, bytes, NULL};
  while (*end) end = &(*end)->next;
  *end = a;
  return memory;
}

void *dp_nccl_allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  void *memory = is_asked(place) ? allocate(dp_cuda_gpu_of(place.device), bytes) : NULL;
  return memory ? memory : dp_cuda_allocate(place, bytes, alignment);
}

void dp_nccl_release(dp_place place, void *memory, uint64_t bytes) {
  dp_nccl_arena **link = &arenas, *a;
  while (*link && (*link)->memory != memory) link = &(*link)->next;
  a = *link;
  if (!a) {
    dp_cuda_release(place, memory, bytes);
    return;
  }
  *link = a->next;
  dp_nccl_windows_drop(a);
  dp_cuda_gpu_try(a->gpu);
  if (!dp_cuda_is_lost()) dp_nccl.ncclMemFree(memory);  // freeing waits for the GPU
  free(a);
}
