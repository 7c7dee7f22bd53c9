// CUDA in the registry of backends.
#include "backends/base/entry.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/backend.h"
#include "backends/cuda/calibration.h"
#include "backends/cuda/code_maker.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/patience.h"
#include "backends/cuda/nccl/library.h"
#include "backends/cuda/target.h"

enum { OLDEST_KIND = 80 };

static dp_status open(const char *devices, const dp_backend **backend) {
  dp_nccl_pin();
  DP_TRY(dp_cuda_gpus_choose(devices));
  *backend = &dp_backend_cuda;
  return DP_OK;
}

// Functions are compiled for the GPU at hand when a plan is loaded, so one plan serves all of the kinds.
static dp_status check_kinds(const char *kinds) {
  for (const char *at = kinds;; at++) {
    char *end = (char *)(uintptr_t)at;
    long kind = !strncmp(at, "sm_", 3) && at[3] >= '1' && at[3] <= '9' ? strtol(at + 3, &end, 10) : 0;
    if (kind && *end == 'a') end++;
    if (!kind || (*end && *end != ','))
      return dp_fail(EX_USAGE, "--target=cuda:%s: give kinds of GPUs like sm_80,sm_90, or --target=cuda alone", kinds);
    if (kind < OLDEST_KIND)
      return dp_fail(EX_UNAVAILABLE, "--target=cuda:%s: the oldest GPUs that plans can be made for are sm_%d", kinds,
                     OLDEST_KIND);
    if (!*end) return DP_OK;
    at = end;
  }
}

const dp_backend_entry dp_backend_entry_cuda = {
    .name = "cuda",
    .target = &dp_target_cuda,
    .open = open,
    .identify = dp_cuda_gpus_identify,
    .map = dp_cuda_gpus_map,
    .set_timeout = dp_cuda_set_timeout,
    .check_kinds = check_kinds,
    .code_maker = &dp_code_maker_cuda,
    .calibrator = &dp_calibrator_cuda,
};
