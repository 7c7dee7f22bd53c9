// The device and its context.
#include <string.h>

#include "tests/cuda/standin/state.h"

struct CUctx_st {
  char unused;
};
static struct CUctx_st context_of_device;

CUresult cuInit(unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_ANY);
  if (refused) return standin_leave(refused);
  if (flags || standin_set.refused) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!standin_set.devices) return standin_leave(CUDA_ERROR_NO_DEVICE);
  standin_initialized = true;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version) {
  CUresult refused = standin_enter(__func__, STANDIN_ANY);
  if (refused) return standin_leave(refused);
  *version = (int)standin_set.driver;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  static const struct {
    CUresult error;
    const char *text;
  } texts[] = {
      {CUDA_SUCCESS, "no error"},
      {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
      {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
      {STANDIN_NOT_INITIALIZED, "initialization error"},
      {CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
      {CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
      {STANDIN_INVALID_IMAGE, "device kernel image is invalid"},
      {STANDIN_INVALID_CONTEXT, "invalid device context"},
      {STANDIN_NO_BINARY, "no kernel image is available for execution on the device"},
      {STANDIN_INVALID_HANDLE, "invalid resource handle"},
      {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
      {CUDA_ERROR_NOT_READY, "device not ready"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
      {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
      {STANDIN_NOT_SUPPORTED, "operation not supported"},
      {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"},
      {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"},
  };
  standin_lock();
  standin_counts.calls++;  // always works, so it cannot be told to fail
  *text = NULL;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].error == error) *text = texts[i].text;
  standin_unlock();
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  *count = (int)standin_set.devices;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (ordinal) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  *device = 0;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (device) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  if (bytes <= 0) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  snprintf(name, (size_t)bytes, "stand-in");
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  const struct {
    int attribute, value;
  } values[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, (int)standin_set.capability / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, (int)standin_set.capability % 10},
  };
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (device) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (values[i].attribute != (int)attribute) continue;
    *value = values[i].value;
    return standin_leave(CUDA_SUCCESS);
  }
  return standin_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (device) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  *bytes = standin_set.memory_bytes;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (device) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  standin_counts.contexts++;
  *context = &context_of_device;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult result = standin_enter(__func__, STANDIN_INITIALIZED);
  if (device || !standin_counts.contexts) return standin_leave(result ? result : STANDIN_INVALID_CONTEXT);
  standin_counts.contexts--;
  return standin_leave(result);
}

CUresult cuCtxSetCurrent(CUcontext context) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (context && (context != &context_of_device || !standin_counts.contexts))
    return standin_leave(STANDIN_INVALID_CONTEXT);
  standin_context_current = context != NULL;
  return standin_leave(CUDA_SUCCESS);
}
