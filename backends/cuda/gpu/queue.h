// Streams and events of the GPU as queues. Private to the backend.
#ifndef DP_BACKENDS_CUDA_QUEUE_H
#define DP_BACKENDS_CUDA_QUEUE_H

#include "backends/cuda/gpu/gpus.h"
#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// The GPU of the queue's device, on which its stream is.
const dp_cuda_gpu *dp_cuda_queue_gpu(const dp_queue *queue);

// As dp_queue_calls has them.
dp_status dp_cuda_queue_create(int device, bool urgent, dp_queue **queue) DP_MUST_USE;
void dp_cuda_queue_destroy(dp_queue *queue);
dp_status dp_cuda_event_create(int device, bool timed, dp_event **event) DP_MUST_USE;
void dp_cuda_event_destroy(dp_event *event);
dp_status dp_cuda_queue_signal(dp_queue *queue, dp_event *event) DP_MUST_USE;
dp_status dp_cuda_event_elapsed(dp_event *begin, dp_event *end, double *ns) DP_MUST_USE;
dp_status dp_cuda_queue_wait(dp_queue *queue, dp_event *event) DP_MUST_USE;
void dp_cuda_queue_begin(dp_queue *queue, int instruction);
dp_status dp_cuda_event_await(dp_event *event) DP_MUST_USE;
int dp_cuda_queue_reported(dp_queue *queue);
dp_status dp_cuda_queue_finish(dp_queue *queue, int *instruction) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
