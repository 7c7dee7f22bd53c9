// The calls of CUDA's driver that the backend makes, declared by ourselves, so that no toolkit is needed to build.
// Where there is one, tests/cuda/headers_test compares (DP_CUDA_TOOLKIT: the toolkit's headers stand in for ours).
#ifndef DP_BACKENDS_CUDA_API_DRIVER_H
#define DP_BACKENDS_CUDA_API_DRIVER_H

#include <stddef.h>

#ifdef DP_CUDA_TOOLKIT
#include <cuda.h>
#else
typedef int CUresult, CUdevice;
typedef int CUdevice_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef unsigned CUstreamCaptureMode, CUpointer_attribute;
typedef struct {
  char bytes[16];
} CUuuid;
#endif

// X(name, value): constants of enums and macros, under names of our own.
#define DP_CUDA_DRIVER_CONSTANTS(X)                   \
  X(CUDA_SUCCESS, 0)                                  \
  X(CUDA_ERROR_INVALID_VALUE, 1)                      \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2)                      \
  X(CUDA_ERROR_NO_DEVICE, 100)                        \
  X(CUDA_ERROR_INVALID_DEVICE, 101)                   \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)          \
  X(CUDA_ERROR_NOT_FOUND, 500)                        \
  X(CUDA_ERROR_NOT_READY, 600)                        \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                  \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)      \
  X(CUDA_ERROR_TOO_MANY_PEERS, 711)                   \
  X(CUDA_ERROR_LAUNCH_FAILED, 719)                    \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)       \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)       \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)             \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)         \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)          \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)         \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)          \
  X(CUDA_ERROR_CAPTURED_EVENT, 907)                   \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)      \
  X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                 \
  X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)           \
  X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                \
  X(CU_STREAM_NON_BLOCKING, 1)                        \
  X(CU_EVENT_DEFAULT, 0)                              \
  X(CU_EVENT_DISABLE_TIMING, 2)                       \
  X(CU_MEMHOSTALLOC_PORTABLE, 1)                      \
  X(CU_MEMHOSTALLOC_DEVICEMAP, 2)                     \
  X(CU_MEMORYTYPE_HOST, 1)                            \
  X(CU_MEMORYTYPE_DEVICE, 2)                          \
  X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)              \
  X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)           \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)     \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)

#ifndef DP_CUDA_TOOLKIT
enum {
#define DP_CONSTANT(name, value) name = value,
  DP_CUDA_DRIVER_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
};
#endif

// X(name, parameters): each returns a CUresult. Available since driver 525 (CUDA 12).
#define DP_CUDA_DRIVER_CALLS(X)                                                                                     \
  X(cuInit, (unsigned flags))                                                                                       \
  X(cuDriverGetVersion, (int *version))                                                                             \
  X(cuGetErrorString, (CUresult error, const char **text))                                                          \
  X(cuDeviceGetCount, (int *count))                                                                                 \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                                                                  \
  X(cuDeviceGetName, (char *name, int bytes, CUdevice device))                                                      \
  X(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                                           \
  X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))                              \
  X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                         \
  X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                                              \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                               \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                \
  X(cuCtxSetCurrent, (CUcontext context))                                                                           \
  X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                                        \
  X(cuCtxSynchronize, (void))                                                                                       \
  X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                       \
  X(cuMemGetInfo_v2, (size_t * room, size_t * total))                                                               \
  X(cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                                                            \
  X(cuMemFree_v2, (CUdeviceptr memory))                                                                             \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                                                  \
  X(cuMemFreeHost, (void *memory))                                                                                  \
  X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void *host, unsigned flags))                               \
  X(cuPointerGetAttribute, (void *value, CUpointer_attribute attribute, CUdeviceptr pointer))                       \
  X(cuMemcpyHtoD_v2, (CUdeviceptr target, const void *source, size_t bytes))                                        \
  X(cuMemcpyDtoH_v2, (void *target, CUdeviceptr source, size_t bytes))                                              \
  X(cuMemcpyAsync, (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream))                         \
  X(cuMemcpyPeerAsync, (CUdeviceptr target, CUcontext target_context, CUdeviceptr source, CUcontext source_context, \
                        size_t bytes, CUstream stream))                                                             \
  X(cuMemsetD8_v2, (CUdeviceptr target, unsigned char value, size_t bytes))                                         \
  X(cuMemsetD8Async, (CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream))                      \
  X(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority))                                  \
  X(cuStreamDestroy_v2, (CUstream stream))                                                                          \
  X(cuStreamSynchronize, (CUstream stream))                                                                         \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                            \
  X(cuEventCreate, (CUevent * event, unsigned flags))                                                               \
  X(cuEventDestroy_v2, (CUevent event))                                                                             \
  X(cuEventRecord, (CUevent event, CUstream stream))                                                                \
  X(cuEventQuery, (CUevent event))                                                                                  \
  X(cuEventSynchronize, (CUevent event))                                                                            \
  X(cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))                                          \
  X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                                           \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                                         \
  X(cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long flags))               \
  X(cuGraphDestroy, (CUgraph graph))                                                                                \
  X(cuGraphLaunch, (CUgraphExec executable, CUstream stream))                                                       \
  X(cuGraphExecDestroy, (CUgraphExec executable))                                                                   \
  X(cuModuleLoadData, (CUmodule * module, const void *image))                                                       \
  X(cuModuleUnload, (CUmodule module))                                                                              \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                \
  X(cuLaunchKernel,                                                                                                 \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,    \
     unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments, void **extra))

#endif
