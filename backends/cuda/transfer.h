// Communication between devices of one GPU: our own functions read the members' memory, in rank order. Private to the
// backend.
#ifndef DP_BACKENDS_CUDA_TRANSFER_H
#define DP_BACKENDS_CUDA_TRANSFER_H

#include "runtime/base/backend.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

// As dp_queue_calls has them.
dp_status dp_cuda_transfer_prepare(int device, const dp_transfer *transfer, void **state) DP_MUST_USE;
void dp_cuda_transfer_release(void *state);
dp_status dp_cuda_transfer_enqueue(dp_queue *const *queues, void *state, int slot) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
