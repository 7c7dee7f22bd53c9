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
struct dp_nccl_group {
  int n;
  const dp_cuda_gpu **gpus;  // (n) by rank
  ncclComm_t *comms;         // (n); NULL: aborted, or not made
  int users;
  dp_nccl_group *next;
};

// The group of these GPUs, in rank order, made if nobody uses it yet. EX_UNAVAILABLE; DP_EX_MEMORY.
dp_status dp_nccl_group_open(int n, const dp_cuda_gpu *const *gpus, dp_nccl_group **group) DP_MUST_USE;
// The last user's call destroys it. Nothing of it is under way, or it has been aborted.
void dp_nccl_group_close(dp_nccl_group *group);

// Ends a group call that dp_nccl.ncclGroupStart began, and waits until its work has been launched. result: of the calls
// in it, the first that failed or ncclSuccess. rank: who made that call. EX_UNAVAILABLE.
dp_status dp_nccl_group_end(dp_nccl_group *group, ncclResult_t result, int rank) DP_MUST_USE;
// A failure that some rank of any group has told of since it was made. EX_UNAVAILABLE.
dp_status dp_nccl_groups_check(void) DP_MUST_USE;
// Ends what is under way in all groups; nothing can be exchanged any more.
void dp_nccl_groups_abort(void);

#ifdef __cplusplus
}
#endif
#endif
