// See driver.h.
#include "backends/cuda/gpu/driver.h"

#include "backends/cuda/api/library.h"

dp_cuda_driver_calls dp_cu;

enum { OLDEST = 12000 };  // the driver that comes with CUDA 12.0

dp_status dp_cuda_driver_load(void) {
  static const char *const sonames[] = {"libcuda.so.1", NULL};
  static const char *const calls[] = {
#define DP_CALL(name, parameters) #name,
      DP_CUDA_DRIVER_CALLS(DP_CALL)
#undef DP_CALL
          NULL};
  static dp_cuda_library library = {"NVIDIA's driver",         sonames, NULL, calls, (void **)&dp_cu,
                                    PTHREAD_MUTEX_INITIALIZER, false,   NULL};
  static bool loaded;
  if (loaded) return DP_OK;
  DP_TRY(dp_cuda_library_load(&library));
  const CUresult started = dp_cu.cuInit(0);
  if (started == CUDA_ERROR_NO_DEVICE) return dp_fail(EX_UNAVAILABLE, "NVIDIA's driver finds no GPU on this machine");
  DP_TRY(dp_cuda_check(started, "starting the driver"));
  int version;
  DP_TRY(dp_cuda_check(dp_cu.cuDriverGetVersion(&version), "asking for the driver's version"));
  if (version < OLDEST)
    return dp_fail(EX_UNAVAILABLE, "NVIDIA's driver on this machine is made for CUDA %d.%d: install one for CUDA %d.%d",
                   version / 1000, version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
  loaded = true;
  return DP_OK;
}

static _Thread_local CUresult blamed;

void dp_cuda_blame(CUresult cause) { blamed = cause; }

dp_status dp_cuda_blamed(void) { return dp_cuda_check(blamed, "turning to the GPU"); }

dp_status dp_cuda_check(CUresult result, const char *doing) {
  if (result == CUDA_SUCCESS) return DP_OK;
  if (blamed) result = blamed;
  const char *text = NULL;
  dp_cu.cuGetErrorString(result, &text);
  const bool lost = result >= CUDA_ERROR_ILLEGAL_ADDRESS && result <= CUDA_ERROR_LAUNCH_FAILED;
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return dp_fail(DP_EX_MEMORY, "the GPU is out of memory while %s: compile for a smaller batch (dpc compile --batch)",
                   doing);
  return dp_fail(EX_UNAVAILABLE, "the GPU failed while %s: %s (error %d)%s", doing, text ? text : "unknown",
                 (int)result, lost ? "; what was in its memory is lost" : "");
}
