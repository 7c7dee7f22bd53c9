// Communication between devices by our own functions, on one GPU or several. Private to the backend and its tests.
//
// Each GPU does a part of a transfer, on the queue of the first of the transfer's devices that is on it. On one GPU,
// that is all of it, and the other devices take no part. On several, every device comes to the transfer on its own
// queue, and goes on when all parts are over; if it does not end, it is given up (backends/cuda/gpu/watch.h). One that
// reads or writes the host's memory begins and ends on the first device's queue alone.
#ifndef DP_BACKENDS_CUDA_TRANSFER_H
#define DP_BACKENDS_CUDA_TRANSFER_H

#include "runtime/base/backend.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

// As dp_queue_calls has them.
dp_status dp_cuda_transfer_prepare(const int *devices, int n_devices, const dp_transfer *transfer,
                                   void **state) DP_MUST_USE;
void dp_cuda_transfer_release(void *state);
bool dp_cuda_transfer_spreads(const void *state);
dp_status dp_cuda_transfer_enqueue(dp_queue *const *queues, void *state, int slot) DP_MUST_USE;
// Adds the functions that a transfer needs. No GPU is needed.
dp_status dp_cuda_transfer_add(const dp_transfer *transfer) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
