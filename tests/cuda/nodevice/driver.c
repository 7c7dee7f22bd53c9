// A driver without a device, for cuDNN where there is no GPU: its fused engines are not even loaded without a driver,
// and finalise plans only once the driver has taken the machine code that they make. This one takes any, runs nothing,
// and says of everything else what the toolkit's stub of the driver says.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

enum { SUCCESS = 0, STUB_LIBRARY = 34, NOT_FOUND = 500, DRIVER_VERSION = 13000 };

#define EXPORTED __attribute__((visibility("default")))
#define CALL(name, ...) EXPORTED int name(__VA_ARGS__); EXPORTED int name(__VA_ARGS__)

static int thing;  // whatever is asked for

CALL(cuDriverGetVersion, int *version) { return *version = DRIVER_VERSION, SUCCESS; }

CALL(cuLibraryLoadData, void **library) { return *library = &thing, SUCCESS; }
CALL(cuLibraryGetKernel, void **kernel) { return *kernel = &thing, SUCCESS; }
CALL(cuLibraryUnload, void) { return SUCCESS; }
CALL(cuKernelGetFunction, void **function) { return *function = &thing, SUCCESS; }
CALL(cuKernelSetAttribute, void) { return SUCCESS; }
CALL(cuModuleLoadData, void **module) { return *module = &thing, SUCCESS; }
CALL(cuModuleGetFunction, void **function) { return *function = &thing, SUCCESS; }
CALL(cuModuleUnload, void) { return SUCCESS; }
CALL(cuFuncSetAttribute, void) { return SUCCESS; }
CALL(cuFuncGetAttribute, int *value) { return *value = 0, SUCCESS; }

#define REFUSED(name) \
  CALL(name, void) { return STUB_LIBRARY; }
REFUSED(cuInit)
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetDevice)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuDeviceGetAttribute)
REFUSED(cuDeviceGetCount)
REFUSED(cuGetErrorName)
REFUSED(cuGetErrorString)
REFUSED(cuKernelGetAttribute)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)
REFUSED(cuTensorMapEncodeIm2col)
REFUSED(cuTensorMapEncodeTiled)

CALL(cuGetProcAddress_v2, const char *name, void **address, int version, uint64_t flags, int *found) {
  (void)version;
  (void)flags;
  *address = dlsym(RTLD_DEFAULT, name);
  if (found) *found = !*address;
  return *address ? SUCCESS : NOT_FOUND;
}

CALL(cuGetProcAddress, const char *name, void **address, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, address, version, flags, NULL);
}
