// See memory.h. The driver aligns allocations to 256 bytes or more, which is what the target asks for.
#include "backends/cuda/gpu/memory.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/staging.h"
#include "backends/cuda/gpu/waiting.h"

static _Thread_local dp_status refusal;  // of the last allocation

static const char allocating[] = "allocating memory";

static dp_status allocate_host(uint64_t bytes, void **memory) {
  DP_TRY(dp_cuda_gpu_use_for(0));
  DP_TRY(dp_cuda_check(dp_cu.cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                       allocating));
  memset(*memory, 0, bytes);
  return DP_OK;
}

dp_status dp_cuda_gpu_zero(const dp_cuda_gpu *gpu, void *memory, uint64_t bytes) {
  DP_TRY(dp_cuda_gpu_use(gpu));
  DP_TRY(dp_cuda_check(dp_cu.cuMemsetD8_v2((CUdeviceptr)(uintptr_t)memory, 0, bytes), allocating));
  return dp_cuda_check(dp_cu.cuCtxSynchronize(), allocating);
}

dp_status dp_cuda_gpu_allocate(const dp_cuda_gpu *gpu, uint64_t bytes, void **memory) {
  CUdeviceptr at;
  DP_TRY(dp_cuda_gpu_use(gpu));
  DP_TRY(dp_cuda_check(dp_cu.cuMemAlloc_v2(&at, bytes), allocating));
  dp_status status = dp_cuda_gpu_zero(gpu, (void *)(uintptr_t)at, bytes);
  if (status)
    dp_cu.cuMemFree_v2(at);
  else
    *memory = (void *)(uintptr_t)at;
  return status;
}

void dp_cuda_gpu_release(const dp_cuda_gpu *gpu, void *memory) {
  if (dp_cuda_is_lost()) return;  // freeing waits for the GPU
  dp_cuda_gpu_try(gpu);
  dp_cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)memory);
}

dp_status dp_cuda_gpu_upload(const dp_cuda_gpu *gpu, void *to, const void *from, uint64_t bytes) {
  DP_TRY(dp_cuda_gpu_use(gpu));
  DP_TRY(dp_cuda_check(dp_cu.cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)to, from, bytes), "copying to it"));
  // A copy from memory that is not pinned may return before the last bytes have arrived.
  return dp_cuda_check(dp_cu.cuCtxSynchronize(), "copying to it");
}

void *dp_cuda_allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  (void)alignment;
  void *memory;
  dp_status_free(refusal);
  refusal =
      place.host ? allocate_host(bytes, &memory) : dp_cuda_gpu_allocate(dp_cuda_gpu_of(place.device), bytes, &memory);
  return refusal ? NULL : memory;
}

dp_status dp_cuda_refusal(void) {
  dp_status status = refusal;
  refusal = DP_OK;
  return status;
}

void dp_cuda_release(dp_place place, void *memory, uint64_t bytes) {
  (void)bytes;
  if (dp_cuda_is_lost()) return;  // freeing waits for the GPU
  if (!place.host) {
    dp_cuda_gpu_release(dp_cuda_gpu_of(place.device), memory);
    return;
  }
  dp_cuda_gpu_try(dp_cuda_gpu_of(0));
  dp_cu.cuMemFreeHost(memory);
}

// What is not for the plan's arenas.
static uint64_t kept_of(const dp_cuda_gpu *gpu) {
  return (uint64_t)DP_CUDA_RESERVE_BYTES + (dp_cuda_gpus_count() > 1 ? DP_CUDA_RESERVE_NCCL_BYTES : 0) +
         (dp_cuda_gpu_reaches_all(gpu) ? 0 : DP_CUDA_STAGING_BYTES);
}

int dp_cuda_memory(dp_place place, uint64_t *bytes) {
  if (place.host) return dp_backend_host_memory(place, bytes);
  size_t room, total;
  const dp_cuda_gpu *gpu = dp_cuda_gpu_of(place.device);
  dp_cuda_gpu_try(gpu);
  // A driver that does not say what is left says why when it is to allocate.
  if (dp_cu.cuMemGetInfo_v2(&room, &total)) room = SIZE_MAX;
  *bytes = room > kept_of(gpu) ? room - kept_of(gpu) : 0;
  return 1 + gpu->ordinal;
}

const char *dp_cuda_memory_name(int memory) {
  static _Thread_local char name[512];
  for (int i = 0; i < dp_cuda_gpus_count(); i++) {
    const dp_cuda_gpu *gpu = dp_cuda_gpus_at(i);
    if (1 + gpu->ordinal != memory) continue;
    snprintf(name, sizeof name, "GPU %d (%s), after %llu bytes kept for CUDA's libraries%s,", gpu->ordinal, gpu->name,
             (unsigned long long)kept_of(gpu), dp_cuda_gpu_reaches_all(gpu) ? "" : " and copies between GPUs");
    return name;
  }
  return "this machine";
}

dp_status dp_cuda_upload(int device, void *to, const void *from, uint64_t bytes) {
  return dp_cuda_gpu_upload(dp_cuda_gpu_of(device), to, from, bytes);
}

dp_status dp_cuda_download(int device, void *to, const void *from, uint64_t bytes) {
  DP_TRY(dp_cuda_gpu_use_for(device));
  return dp_cuda_check(dp_cu.cuMemcpyDtoH_v2(to, (CUdeviceptr)(uintptr_t)from, bytes), "copying from it");
}
