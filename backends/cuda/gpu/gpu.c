// See gpu.h. The table is filled by one thread at a time.
#include "backends/cuda/gpu/gpu.h"

#include <stdio.h>

static dp_cuda_gpu gpus[DP_CUDA_MOST_GPUS];
static bool described[DP_CUDA_MOST_GPUS];
static _Thread_local const dp_cuda_gpu *current;
static _Thread_local bool is_current;  // to the driver too

enum { OLDEST_MAJOR = 8, OLDEST_MINOR = 0 };

// ---- asking ---------------------------------------------------------------------------------------------------------

static void write_uuid(const unsigned char bytes[16], char text[DP_CUDA_UUID_BYTES]) {
  char *at = text + sprintf(text, "GPU");
  for (int i = 0; i < 16; i++) {
    const bool begins = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    at += sprintf(at, "%s%02x", begins ? "-" : "", bytes[i]);
  }
}

static dp_status describe(dp_cuda_gpu *g) {
  CUuuid uuid;
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGet(&g->device, g->ordinal), "opening the GPU"));
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetName(g->name, sizeof g->name, g->device), "asking for the GPU's name"));
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetUuid_v2(&uuid, g->device), "asking for the GPU's UUID"));
  write_uuid((const unsigned char *)uuid.bytes, g->uuid);
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

dp_status dp_cuda_gpu_count(int *count) {
  DP_TRY(dp_cuda_driver_load());
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceGetCount(count), "counting the GPUs"));
  if (*count > DP_CUDA_MOST_GPUS) *count = DP_CUDA_MOST_GPUS;
  return DP_OK;
}

dp_status dp_cuda_gpu_find(int ordinal, const dp_cuda_gpu **gpu) {
  int count;
  DP_TRY(dp_cuda_gpu_count(&count));
  if (ordinal >= count)
    return dp_fail(EX_UNAVAILABLE, "this machine has %d GPU%s, so there is no GPU %d", count, count == 1 ? "" : "s",
                   ordinal);
  dp_cuda_gpu *g = &gpus[ordinal];
  g->ordinal = ordinal;
  if (!described[ordinal]) DP_TRY(describe(g));
  described[ordinal] = true;
  *gpu = g;
  return DP_OK;
}

bool dp_cuda_gpu_is_new(const dp_cuda_gpu *gpu) { return gpu->major >= OLDEST_MAJOR; }

// ---- using ----------------------------------------------------------------------------------------------------------

dp_status dp_cuda_gpu_open(const dp_cuda_gpu *gpu) {
  dp_cuda_gpu *g = &gpus[gpu->ordinal];
  if (g->context) return DP_OK;
  if (!dp_cuda_gpu_is_new(g))
    return dp_fail(EX_UNAVAILABLE, "GPU %d (%s) has compute capability %d.%d, but at least %d.%d is needed", g->ordinal,
                   g->name, g->major, g->minor, OLDEST_MAJOR, OLDEST_MINOR);
  CUcontext context;
  DP_TRY(dp_cuda_check(dp_cu.cuDevicePrimaryCtxRetain(&context, g->device), "opening the GPU"));
  g->context = context;
  return dp_cuda_check(dp_cu.cuCtxSetCurrent(context), "opening the GPU");
}

static CUresult make_current(const dp_cuda_gpu *gpu) {
  const CUresult result = dp_cu.cuCtxSetCurrent(gpu->context);
  dp_cuda_blame(result);
  is_current = !result;
  current = gpu;
  return result;
}

dp_status dp_cuda_gpu_use(const dp_cuda_gpu *gpu) { return dp_cuda_check(make_current(gpu), "turning to the GPU"); }

dp_status dp_cuda_gpu_enter(const dp_cuda_gpu *gpu) {
  return current == gpu && is_current ? DP_OK : dp_cuda_gpu_use(gpu);
}

void dp_cuda_gpu_try(const dp_cuda_gpu *gpu) { make_current(gpu); }

const dp_cuda_gpu *dp_cuda_gpu_current(void) { return current; }
