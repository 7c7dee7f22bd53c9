// What is captured from the GPU's streams, as an executable graph. Private to the backend.
#ifndef DP_BACKENDS_CUDA_CAPTURE_H
#define DP_BACKENDS_CUDA_CAPTURE_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// As dp_queue_calls has them.
dp_status dp_cuda_capture_begin(dp_queue *queue) DP_MUST_USE;
dp_status dp_cuda_capture_end(dp_queue *queue, dp_captured **captured) DP_MUST_USE;
dp_status dp_cuda_capture_replay(dp_queue *queue, dp_captured *captured) DP_MUST_USE;
void dp_cuda_capture_release(dp_captured *captured);

#ifdef __cplusplus
}
#endif
#endif
