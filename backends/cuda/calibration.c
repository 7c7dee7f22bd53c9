// See calibration.h.
#include "backends/cuda/calibration.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/blaslt/library.h"
#include "backends/cuda/code_maker.h"
#include "backends/cuda/cudnn/library.h"
#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/kernels/region.h"

// The libraries that have several algorithms for a call.
static const struct {
  const char *name;
  dp_status (*version)(char *text, size_t room);
} libraries[] = {{"cuBLASLt ", dp_blaslt_version}, {"cuDNN ", dp_cudnn_version}};

static void describe_gpu(const dp_cuda_gpu *gpu, char text[DP_CALIBRATION_TEXT]) {
  snprintf(text, DP_CALIBRATION_TEXT, "%.200s, sm_%d%d", gpu->name, gpu->major, gpu->minor);
}

// ---- taking ---------------------------------------------------------------------------------------------------------

static dp_status refuse(const char *measured, const char *here) {
  return dp_fail(EX_CONFIG,
                 "the plan's calibration was measured with %s, but here is %s: measure again here with 'dpc calibrate "
                 "PLAN --device=cuda -o FILE', and compile with --calibration=FILE, or without it",
                 measured, here);
}

static dp_status check_library(const char *measured) {
  for (size_t i = 0; i < DP_COUNT(libraries); i++) {
    char here[DP_CALIBRATION_TEXT];
    if (strncmp(measured, libraries[i].name, strlen(libraries[i].name))) continue;
    DP_TRY(libraries[i].version(here, sizeof here));
    return strcmp(here, measured) ? refuse(measured, here) : DP_OK;
  }
  return refuse(measured, "no such library");
}

dp_status dp_cuda_calibrate(const dp_calibration *calibration) {
  dp_cuda_calibration_use(NULL);
  if (!calibration) return DP_OK;
  for (int i = 0; i < dp_cuda_gpus_count(); i++) {
    char here[DP_CALIBRATION_TEXT];
    describe_gpu(dp_cuda_gpus_at(i), here);
    if (strcmp(here, calibration->device)) return refuse(calibration->device, here);
  }
  for (int i = 0; i < calibration->n_libraries; i++) DP_TRY(check_library(calibration->libraries[i]));
  dp_cuda_calibration_use(calibration);
  return DP_OK;
}

// ---- measuring ------------------------------------------------------------------------------------------------------

static dp_arena *arena;  // of what is measured

static dp_status begin(dp_arena *to) {
  DP_TRY(dp_cuda_gpus_attach(1));
  DP_TRY(dp_cuda_gpu_use_for(0));
  dp_cuda_calibration_use(NULL);
  dp_cuda_calibration_begin(to);
  arena = to;
  return DP_OK;
}

static dp_status measure(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  void *state = NULL;
  if (kernel == &dp_kernel_cuda_Region) return dp_cuda_region_add(spec, measure);
  if (kernel == &dp_kernel_cuda_head_Region) return dp_cuda_head_add(spec, measure);
  if (!kernel->library || !kernel->prepare) return DP_OK;
  DP_TRY(kernel->prepare(spec, &state));
  if (kernel->release) kernel->release(state);
  return DP_OK;
}

static dp_status end(dp_calibration *calibration, const char **driver) {
  char gpu[DP_CALIBRATION_TEXT];
  int version = 0;
  dp_cuda_calibration_end(calibration);
  describe_gpu(dp_cuda_gpus_at(0), gpu);
  calibration->device = dp_strdup(arena, gpu);
  dp_status status = dp_cuda_check(dp_cu.cuDriverGetVersion(&version), "asking the driver's version");
  *driver = dp_printf(arena, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  dp_cuda_gpus_detach();
  return status;
}

const dp_calibrator dp_calibrator_cuda = {
    .backend = &dp_cuda_backend_unattached, .begin = begin, .measure = measure, .end = end};
