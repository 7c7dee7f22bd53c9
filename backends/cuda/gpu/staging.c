// See staging.h.
#include "backends/cuda/gpu/staging.h"

#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/queue.h"

static struct {
  int holders;
  char *memory;
  CUevent left;  // when the last one that claimed it is done
} staging[DP_CUDA_MOST_GPUS];

dp_status dp_cuda_staging_hold(const dp_cuda_gpu *gpu, char **memory) {
  const int g = gpu->ordinal;
  if (!staging[g].holders) {
    DP_TRY(dp_cuda_gpu_use(gpu));
    DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&staging[g].left, CU_EVENT_DISABLE_TIMING), "making an event"));
    void *room;
    dp_status status = dp_cuda_gpu_allocate(gpu, DP_CUDA_STAGING_BYTES, &room);
    if (status) {
      dp_cu.cuEventDestroy_v2(staging[g].left);
      return dp_status_context(status, "GPU %d, %d bytes for what it cannot reach on other GPUs", g,
                               DP_CUDA_STAGING_BYTES);
    }
    staging[g].memory = room;
  }
  staging[g].holders++;
  *memory = staging[g].memory;
  return DP_OK;
}

void dp_cuda_staging_drop(const dp_cuda_gpu *gpu) {
  const int g = gpu->ordinal;
  if (--staging[g].holders) return;
  dp_cuda_gpu_release(gpu, staging[g].memory);
  dp_cu.cuEventDestroy_v2(staging[g].left);
}

dp_status dp_cuda_staging_claim(dp_queue *queue) {
  const int g = dp_cuda_queue_gpu(queue)->ordinal;
  return dp_cuda_queue_wait(queue, (dp_event *)staging[g].left);
}

dp_status dp_cuda_staging_leave(dp_queue *queue) {
  const int g = dp_cuda_queue_gpu(queue)->ordinal;
  return dp_cuda_queue_signal(queue, (dp_event *)staging[g].left);
}
