// The calls of NCCL that the backend makes, of version 2.18 or newer, and of 2.27 for memory windows. See driver.h.
#ifndef DP_BACKENDS_CUDA_API_NCCL_H
#define DP_BACKENDS_CUDA_API_NCCL_H

#include <limits.h>
#include <stddef.h>

#include "backends/cuda/api/driver.h"

#ifdef DP_CUDA_TOOLKIT
#include <nccl.h>
#if NCCL_VERSION_CODE < 22700
typedef struct ncclWindow_vidmem *ncclWindow_t;
#endif
#else
typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
// As 2.18 has it. Later versions add to its end, and read as much as `size` says.
typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char *netName;
  int splitShare;
} ncclConfig_t;
#endif

// What a configuration of 2.18 begins with, how long it is, and what is left to NCCL in it.
enum {
  DP_NCCL_CONFIG_BYTES = 48,
  DP_NCCL_CONFIG_VERSION = 21800,
  DP_NCCL_UNDEFINED = INT_MIN,
};
#define DP_NCCL_MAGIC 0xcafebeefu

#define DP_CUDA_NCCL_CONSTANTS(X) \
  X(ncclSuccess, 0)               \
  X(ncclUnhandledCudaError, 1)    \
  X(ncclSystemError, 2)           \
  X(ncclInternalError, 3)         \
  X(ncclInvalidArgument, 4)       \
  X(ncclInvalidUsage, 5)          \
  X(ncclRemoteError, 6)           \
  X(ncclInProgress, 7)            \
  X(ncclSum, 0)                   \
  X(ncclMax, 2)                   \
  X(ncclInt8, 0)                  \
  X(ncclUint8, 1)                 \
  X(ncclInt32, 2)                 \
  X(ncclUint32, 3)                \
  X(ncclInt64, 4)                 \
  X(ncclUint64, 5)                \
  X(ncclFloat16, 6)               \
  X(ncclFloat32, 7)               \
  X(ncclFloat64, 8)               \
  X(ncclBfloat16, 9)

// Where the fields of a configuration are, which newer headers declare longer.
#define DP_CUDA_NCCL_LAYOUT(X)                  \
  X(offsetof(ncclConfig_t, size), 0)            \
  X(offsetof(ncclConfig_t, magic), 8)           \
  X(offsetof(ncclConfig_t, version), 12)        \
  X(offsetof(ncclConfig_t, blocking), 16)       \
  X(offsetof(ncclConfig_t, cgaClusterSize), 20) \
  X(offsetof(ncclConfig_t, minCTAs), 24)        \
  X(offsetof(ncclConfig_t, maxCTAs), 28)        \
  X(offsetof(ncclConfig_t, netName), 32)        \
  X(offsetof(ncclConfig_t, splitShare), 40)

// Of memory windows.
#define DP_CUDA_NCCL_WINDOW_CONSTANTS(X) \
  X(NCCL_WIN_DEFAULT, 0)                 \
  X(NCCL_WIN_REQUIRED_ALIGNMENT, 4096)

#ifndef DP_CUDA_TOOLKIT
enum {
#define DP_CONSTANT(name, value) name = value,
  DP_CUDA_NCCL_CONSTANTS(DP_CONSTANT) DP_CUDA_NCCL_WINDOW_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
};
#endif

// X(name, parameters): each returns an ncclResult_t.
#define DP_CUDA_NCCL_CALLS(X)                                                                                        \
  X(ncclGetVersion, (int *version))                                                                                  \
  X(ncclGetUniqueId, (ncclUniqueId * id))                                                                            \
  X(ncclCommInitRankConfig, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config))         \
  X(ncclCommFinalize, (ncclComm_t comm))                                                                             \
  X(ncclCommDestroy, (ncclComm_t comm))                                                                              \
  X(ncclCommAbort, (ncclComm_t comm))                                                                                \
  X(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                                                  \
  X(ncclGroupStart, (void))                                                                                          \
  X(ncclGroupEnd, (void))                                                                                            \
  X(ncclAllReduce, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,              \
                    ncclComm_t comm, cudaStream_t stream))                                                           \
  X(ncclReduceScatter, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,          \
                        ncclComm_t comm, cudaStream_t stream))                                                       \
  X(ncclAllGather,                                                                                                   \
    (const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream))      \
  X(ncclReduce, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,       \
                 ncclComm_t comm, cudaStream_t stream))                                                              \
  X(ncclBroadcast, (const void *send, void *receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm,   \
                    cudaStream_t stream))                                                                            \
  X(ncclSend, (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)) \
  X(ncclRecv, (void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream))

// Those that 2.27 or newer has: memory windows.
#define DP_CUDA_NCCL_WINDOW_CALLS(X)                                                                        \
  X(ncclMemAlloc, (void **memory, size_t bytes))                                                            \
  X(ncclMemFree, (void *memory))                                                                            \
  X(ncclCommWindowRegister, (ncclComm_t comm, void *memory, size_t bytes, ncclWindow_t *window, int flags)) \
  X(ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))

#endif
