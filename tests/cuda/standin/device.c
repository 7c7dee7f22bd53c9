// The device and its context.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/state.h"

// The primary context of a device.
struct CUctx_st {
  int64_t retained;
  bool enabled[STANDIN_MOST_DEVICES];  // whose memory it can access
};
static struct CUctx_st contexts[STANDIN_MOST_DEVICES];

static bool is_device(CUdevice device) { return device >= 0 && (uint64_t)device < standin_set.devices; }

bool standin_reaches(int device, int other) { return device == other || contexts[device].enabled[other]; }

void standin_forget_peers(void) {
  for (int d = 0; d < STANDIN_MOST_DEVICES; d++) memset(contexts[d].enabled, 0, sizeof contexts[d].enabled);
}

int dp_standin_device(void) { return standin_current; }

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
  if (!is_device(ordinal)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (!is_device(device)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  if (bytes <= 0) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  const char *set = getenv("DP_STANDIN_NAME");
  snprintf(name, (size_t)bytes, "%s", set ? set : "stand-in");
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  const uint64_t capability = is_device(device) ? standin_set.capability[device] : 0;
  const struct {
    int attribute, value;
  } values[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, (int)(capability / 10)},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, (int)(capability % 10)},
  };
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (!is_device(device)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
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
  if (!is_device(device)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  *bytes = standin_set.memory_bytes;
  return standin_leave(CUDA_SUCCESS);
}

// In the form of a version 4, with the device's number at the end.
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  static const unsigned char bytes[16] = {0x5d, 0x1a, 0x9c, 0x3e, 0x47, 0xb2, 0x4f, 0x06, 0x8a, 0x71, 0xe5, 0x2b, 0, 0};
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (!is_device(device)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  memcpy(uuid->bytes, bytes, sizeof bytes);
  uuid->bytes[0] = (char)(0x50 + device);
  uuid->bytes[15] = (char)device;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (!is_device(device) || !is_device(peer)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  *can = standin_set.peers[device][peer];
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (!is_device(device)) return standin_leave(CUDA_ERROR_INVALID_DEVICE);
  standin_counts.contexts++;
  contexts[device].retained++;
  *context = &contexts[device];
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult result = standin_enter(__func__, STANDIN_INITIALIZED);
  if (!is_device(device) || !contexts[device].retained) return standin_leave(result ? result : STANDIN_INVALID_CONTEXT);
  standin_counts.contexts--;
  contexts[device].retained--;
  return standin_leave(result);
}

static bool is_context(CUcontext context) {
  for (int d = 0; d < STANDIN_MOST_DEVICES; d++)
    if (context == &contexts[d]) return contexts[d].retained > 0;
  return false;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  if (context && !is_context(context)) return standin_leave(STANDIN_INVALID_CONTEXT);
  standin_current = context ? (int)(context - contexts) : -1;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (flags) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!is_context(peer) || peer == &contexts[standin_current]) return standin_leave(STANDIN_INVALID_CONTEXT);
  const int other = (int)(peer - contexts);
  if (!standin_set.peers[standin_current][other]) return standin_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  bool *enabled = &contexts[standin_current].enabled[other];
  if (*enabled) return standin_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  *enabled = true;
  return standin_leave(CUDA_SUCCESS);
}

int standin_context_device(CUcontext context) { return is_context(context) ? (int)(context - contexts) : -1; }
