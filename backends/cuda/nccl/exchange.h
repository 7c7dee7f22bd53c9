// A transfer that is carried out by NCCL: every device takes part on its own GPU's stream. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_EXCHANGE_H
#define DP_BACKENDS_CUDA_NCCL_EXCHANGE_H

#include "backends/cuda/gpu/gpu.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_nccl_exchange dp_nccl_exchange;

// Prepares a transfer between these devices of the plan, which are on these GPUs and outlive it. *exchange is NULL if
// it is not for NCCL: two devices share a GPU, NCCL cannot do it, or it must not (dp_transfer.in_rank_order); then *why
// says that for people, or is empty if there is nothing to be said. EX_UNAVAILABLE, DP_EX_MEMORY.
dp_status dp_nccl_exchange_make(const dp_transfer *transfer, int n, const int *devices, const dp_cuda_gpu *const *gpus,
                                dp_nccl_exchange **exchange, const char **why) DP_MUST_USE;
void dp_nccl_exchange_release(dp_nccl_exchange *exchange);
// Issues it on the streams of its GPUs, (n). Runs with the same slot follow each other. EX_UNAVAILABLE.
dp_status dp_nccl_exchange_issue(dp_nccl_exchange *exchange, CUstream const *streams, int slot) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
