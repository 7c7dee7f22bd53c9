// See gpu.h.
#include "backends/cuda/gpu/gpu.h"

static dp_cuda_gpu gpu;
static bool is_open;

enum { OLDEST_MAJOR = 8, OLDEST_MINOR = 0 };

static dp_status describe(dp_cuda_gpu *g) {
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetName(g->name, sizeof g->name, g->device), "asking for the GPU's name"));
  const struct {
    CUdevice_attribute attribute;
    int *value;
  } asked[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &g->major},
               {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &g->minor},
               {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &g->multiprocessors}};
  for (size_t i = 0; i < DP_COUNT(asked); i++)
    DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetAttribute(asked[i].value, asked[i].attribute, g->device),
                         "asking for the GPU's properties"));
  return dp_cuda_check(dp_cu.cuDeviceTotalMem_v2(&g->bytes, g->device), "asking for the GPU's memory");
}

dp_status dp_cuda_gpu_open(int ordinal) {
  if (is_open && gpu.ordinal == ordinal) return DP_OK;
  if (is_open) return dp_fail(EX_UNAVAILABLE, "this process has opened GPU %d already", gpu.ordinal);
  DP_TRY(dp_cuda_driver_load());
  int count;
  dp_cuda_gpu g = {.ordinal = ordinal};
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetCount(&count), "counting the GPUs"));
  if (ordinal >= count)
    return dp_fail(EX_UNAVAILABLE, "this machine has %d GPU%s, so there is no GPU %d", count, count == 1 ? "" : "s",
                   ordinal);
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGet(&g.device, ordinal), "opening the GPU"));
  DP_TRY(describe(&g));
  if (g.major < OLDEST_MAJOR)
    return dp_fail(EX_UNAVAILABLE, "GPU %d (%s) has compute capability %d.%d, but at least %d.%d is needed", ordinal,
                   g.name, g.major, g.minor, OLDEST_MAJOR, OLDEST_MINOR);
  DP_TRY(dp_cuda_check(dp_cu.cuDevicePrimaryCtxRetain(&g.context, g.device), "opening the GPU"));
  gpu = g;
  is_open = true;
  return dp_cuda_check(dp_cu.cuCtxSetCurrent(g.context), "opening the GPU");
}

const dp_cuda_gpu *dp_cuda_gpu_opened(void) { return is_open ? &gpu : NULL; }

const dp_cuda_gpu *dp_cuda_gpu_use(void) {
  dp_cu.cuCtxSetCurrent(gpu.context);  // fails only for contexts that do not exist
  return &gpu;
}
