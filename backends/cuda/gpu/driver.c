// See driver.h.
#include "backends/cuda/gpu/driver.h"

#include "backends/cuda/api/library.h"

dp_cuda_driver_calls dp_cu;

enum { OLDEST = 12000 };  // the driver that comes with CUDA 12.0

static struct {
  bool open, started;
  CUresult asked;  // for the version
  int version;
} driver;

dp_status dp_cuda_driver_open(void) {
  static const char *const sonames[] = {"libcuda.so.1", NULL};
  static const char *const calls[] = {
#define DP_CALL(name, parameters) #name,
      DP_CUDA_DRIVER_CALLS(DP_CALL)
#undef DP_CALL
          NULL};
  static dp_cuda_library library = {.what = "NVIDIA's driver",
                                    .sonames = sonames,
                                    .calls = calls,
                                    .table = (void **)&dp_cu,
                                    .lock = PTHREAD_MUTEX_INITIALIZER};
  if (!driver.open) {
    DP_TRY(dp_cuda_library_load(&library));
    driver.asked = dp_cu.cuDriverGetVersion(&driver.version);
    driver.open = true;
    if (!driver.asked) dp_cuda_library_limit(driver.version / 1000);
  }
  DP_TRY(dp_cuda_check(driver.asked, "asking for the driver's version"));
  if (driver.version >= OLDEST) return DP_OK;
  return dp_fail(EX_UNAVAILABLE, "NVIDIA's driver on this machine is made for CUDA %d.%d: install one for CUDA %d.%d",
                 driver.version / 1000, driver.version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
}

dp_status dp_cuda_driver_load(void) {
  if (driver.started) return DP_OK;
  DP_TRY(dp_cuda_driver_open());
  const CUresult started = dp_cu.cuInit(0);
  if (started == CUDA_ERROR_NO_DEVICE) return dp_fail(EX_UNAVAILABLE, "NVIDIA's driver finds no GPU on this machine");
  DP_TRY(dp_cuda_check(started, "starting the driver"));
  driver.started = true;
  return DP_OK;
}

static _Thread_local CUresult blamed;

void dp_cuda_blame(CUresult cause) { blamed = cause; }

dp_status dp_cuda_blamed(void) { return dp_cuda_check(blamed, "turning to the GPU"); }

// Errors of which the driver's documentation says that the process must begin again.
static bool loses_memory(CUresult result) {
  static const int errors[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};
  for (size_t i = 0; i < DP_COUNT(errors); i++)
    if ((int)result == errors[i]) return true;
  return false;
}

dp_status dp_cuda_check(CUresult result, const char *doing) {
  if (result == CUDA_SUCCESS) return DP_OK;
  if (blamed) result = blamed;
  const char *text = NULL;
  dp_cu.cuGetErrorString(result, &text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return dp_fail(DP_EX_MEMORY, "the GPU is out of memory while %s: compile for a smaller batch (dpc compile --batch)",
                   doing);
  return dp_fail(EX_UNAVAILABLE, "the GPU failed while %s: %s (error %d)%s", doing, text ? text : "unknown",
                 (int)result, loses_memory(result) ? "; what was in its memory is lost" : "");
}
