// See backend.h.
#include "backends/cuda/backend.h"

#include <stdio.h>

#include "backends/cuda/calibration.h"
#include "backends/cuda/gpu/background.h"
#include "backends/cuda/gpu/capture.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/nvrtc.h"
#include "backends/cuda/gpu/queue.h"
#include "backends/cuda/nccl/arenas.h"
#include "backends/cuda/nccl/library.h"
#include "backends/cuda/target.h"
#include "backends/cuda/transfer.h"

static const dp_queue_calls queues = {
    .create = dp_cuda_queue_create,
    .destroy = dp_cuda_queue_destroy,
    .event_create = dp_cuda_event_create,
    .event_destroy = dp_cuda_event_destroy,
    .signal = dp_cuda_queue_signal,
    .wait = dp_cuda_queue_wait,
    .elapsed = dp_cuda_event_elapsed,
    .transfer_prepare = dp_cuda_transfer_prepare,
    .transfer_release = dp_cuda_transfer_release,
    .transfer_spreads = dp_cuda_transfer_spreads,
    .transfer_enqueue = dp_cuda_transfer_enqueue,
    .ready = dp_cuda_functions_load,
    .chosen = dp_cuda_choices,
    .begin = dp_cuda_queue_begin,
    .capture_begin = dp_cuda_capture_begin,
    .capture_end = dp_cuda_capture_end,
    .replay = dp_cuda_capture_replay,
    .capture_release = dp_cuda_capture_release,
    .await = dp_cuda_event_await,
    .reported = dp_cuda_queue_reported,
    .finish = dp_cuda_queue_finish,
};

// Every program needs NVRTC, for its transfers at the least. Which one is loaded depends on the driver.
static void expect(const dp_kernel *kernel) {
  dp_status_free(dp_cuda_driver_open());  // who needs it finds the same
  dp_cuda_nvrtc_expect();
  if (kernel->expect) kernel->expect();
}

static int chip(int device) { return dp_cuda_gpu_of(device)->ordinal; }

static const char *chip_name(int device) {
  static _Thread_local char name[16];
  snprintf(name, sizeof name, "GPU %d", chip(device));
  return name;
}

static void describe(FILE *out) {
  dp_cuda_gpus_describe(out);
  dp_nccl_describe(out);
}

static int use(int device) {
  const dp_cuda_gpu *gpu = dp_cuda_gpu_of(device);
  dp_cuda_gpu_try(gpu);
  return gpu->ordinal;
}

const dp_backend dp_backend_cuda = {
    .name = "cuda",
    .target = &dp_target_cuda,
    .computes = true,
    .expect = expect,
    .attach = dp_cuda_gpus_attach,
    .detach = dp_cuda_gpus_detach,
    .use = use,
    .chip = chip,
    .calibrate = dp_cuda_calibrate,
    .chip_name = chip_name,
    .settle = dp_cuda_jobs_end,
    .allocate = dp_nccl_allocate,
    .refusal = dp_cuda_refusal,
    .release = dp_nccl_release,
    .memory = dp_cuda_memory,
    .memory_name = dp_cuda_memory_name,
    .describe = describe,
    .upload = dp_cuda_upload,
    .download = dp_cuda_download,
    .queues = &queues,
};
