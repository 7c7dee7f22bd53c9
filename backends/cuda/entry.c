// CUDA in the registry of backends.
#include "backends/base/entry.h"

#include <stdlib.h>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu.h"
#include "backends/cuda/target.h"

static dp_status open(const char *devices, const dp_backend **backend) {
  char *end = NULL;
  long ordinal = devices ? strtol(devices, &end, 10) : 0;
  if (devices && (*devices < '0' || *devices > '9' || *end || ordinal > 1023))
    return dp_fail(EX_USAGE, "--device=cuda:%s: give the number of one GPU, like --device=cuda:0; all devices of the "
                   "plan share it", devices);
  DP_TRY(dp_cuda_gpu_open((int)ordinal));
  *backend = &dp_backend_cuda;
  return DP_OK;
}

const dp_backend_entry dp_backend_entry_cuda = {
    .name = "cuda",
    .target = &dp_target_cuda,
    .open = open,
};
