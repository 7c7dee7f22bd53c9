// Groups of GPUs that exchange data by NCCL: a communicator for each of them, all in this process. Private to the
// backend.
#ifndef DP_BACKENDS_CUDA_NCCL_GROUP_H
#define DP_BACKENDS_CUDA_NCCL_GROUP_H

#include "backends/cuda/gpu/gpu.h"
#include "backends/cuda/nccl/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_nccl_group dp_nccl_group;
typedef struct dp_nccl_window dp_nccl_window;
struct dp_nccl_group {
  int n;
  const dp_cuda_gpu **gpus;  // (n) by rank
  ncclComm_t *comms;         // (n); NULL: aborted, or not made
  dp_nccl_window *windows;   // see windows.h
  int users;
  dp_nccl_group *next;
};

// The group of these GPUs, in rank order, made and watched (backends/cuda/gpu/watch.h) if nobody uses it yet.
// EX_UNAVAILABLE; DP_EX_MEMORY.
dp_status dp_nccl_group_open(int n, const dp_cuda_gpu *const *gpus, dp_nccl_group **group) DP_MUST_USE;
dp_nccl_group *dp_nccl_groups_first(void);  // of all that live
// The last user's call destroys it. Nothing of it is under way, or it has been aborted.
void dp_nccl_group_close(dp_nccl_group *group);

// Ends a group call that dp_nccl.ncclGroupStart began, and waits until its work has been launched. result: of the calls
// in it, the first that failed or ncclSuccess. rank: who made that call. EX_UNAVAILABLE.
dp_status dp_nccl_group_end(dp_nccl_group *group, ncclResult_t result, int rank) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
