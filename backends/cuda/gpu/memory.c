// See memory.h. The driver aligns allocations to 256 bytes or more, which is what the target asks for.
#include "backends/cuda/gpu/memory.h"

#include <string.h>

#include "backends/cuda/gpu/gpu.h"

static void *allocate_host(uint64_t bytes) {
  void *memory;
  if (dp_cu.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)) return NULL;
  return memset(memory, 0, bytes);
}

static void *allocate_device(uint64_t bytes) {
  CUdeviceptr memory;
  if (dp_cu.cuMemAlloc_v2(&memory, bytes)) return NULL;
  if (!dp_cu.cuMemsetD8_v2(memory, 0, bytes) && !dp_cu.cuCtxSynchronize()) return (void *)(uintptr_t)memory;
  dp_cu.cuMemFree_v2(memory);
  return NULL;
}

void *dp_cuda_allocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  (void)alignment;
  dp_cuda_gpu_use();
  return place.host ? allocate_host(bytes) : allocate_device(bytes);
}

void dp_cuda_release(dp_place place, void *memory, uint64_t bytes) {
  (void)bytes;
  dp_cuda_gpu_use();
  if (place.host)
    dp_cu.cuMemFreeHost(memory);
  else
    dp_cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)memory);
}

int dp_cuda_memory(dp_place place, uint64_t *bytes) {
  if (place.host) return dp_backend_host_memory(place, bytes);
  size_t room = 0, total = 0;
  dp_cuda_gpu_use();
  dp_cu.cuMemGetInfo_v2(&room, &total);
  *bytes = room;
  return 1;
}

dp_status dp_cuda_upload(int device, void *to, const void *from, uint64_t bytes) {
  (void)device;
  dp_cuda_gpu_use();
  DP_TRY(dp_cuda_check(dp_cu.cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)to, from, bytes), "copying to it"));
  // A copy from memory that is not pinned may return before the last bytes have arrived.
  return dp_cuda_check(dp_cu.cuCtxSynchronize(), "copying to it");
}

dp_status dp_cuda_download(int device, void *to, const void *from, uint64_t bytes) {
  (void)device;
  dp_cuda_gpu_use();
  return dp_cuda_check(dp_cu.cuMemcpyDtoH_v2(to, (CUdeviceptr)(uintptr_t)from, bytes), "copying from it");
}
