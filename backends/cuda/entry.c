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

// Compute capabilities, as sm_N has them, from the oldest on that plans run on: those that CUDA 12 and 13 compile for.
static const int kinds_known[] = {80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

static bool is_known(long kind) {
  for (size_t i = 0; i < DP_COUNT(kinds_known); i++)
    if (kinds_known[i] == kind) return true;
  return false;
}

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
      return dp_fail(EX_USAGE, "cuda:%s: give kinds of GPUs like cuda:sm_80,sm_90, or cuda alone", kinds);
    if (kind < kinds_known[0])
      return dp_fail(EX_UNAVAILABLE, "cuda:%s: the oldest GPUs that plans can be made for are sm_%d", kinds,
                     kinds_known[0]);
    if (!is_known(kind))
      return dp_fail(EX_USAGE, "cuda:%s: there is no sm_%ld among GPUs that are known here", kinds, kind);
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
