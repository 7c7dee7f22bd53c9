// What NCCL is asked for to carry out a transfer: the calls of one group call. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_CALLS_H
#define DP_BACKENDS_CUDA_NCCL_CALLS_H

#include "backends/cuda/nccl/library.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  DP_NCCL_ALL_REDUCE,
  DP_NCCL_REDUCE_SCATTER,
  DP_NCCL_ALL_GATHER,
  DP_NCCL_REDUCE,
  DP_NCCL_BROADCAST,
  DP_NCCL_SEND,
  DP_NCCL_RECEIVE,
} dp_nccl_kind;

typedef struct {
  dp_nccl_kind kind;
  int rank;   // who makes the call
  int other;  // the root or the peer
  const void *from;
  void *to;
  size_t count;  // elements, as NCCL counts them for the kind
} dp_nccl_call;

// The calls of a transfer, in an order that is the same for all ranks.
typedef struct {
  ncclDataType_t type;
  ncclRedOp_t op;
  int n;
  dp_nccl_call *calls;
  const char *how;  // "all-reduce", for people
} dp_nccl_call_list;

// Finds the calls of a transfer between n devices. *why, if there are none: why NCCL cannot do it, for people; "" if
// nothing is to be moved. What lies in pieces is sent in pieces; nothing is packed. The caller frees list->calls.
// DP_EX_MEMORY.
dp_status dp_nccl_find_calls(const dp_transfer *transfer, int n, dp_nccl_call_list *list, const char **why) DP_MUST_USE;

ncclResult_t dp_nccl_make_call(const dp_nccl_call_list *list, const dp_nccl_call *call, ncclComm_t comm,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
