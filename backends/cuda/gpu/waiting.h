// Waiting for GPUs. Where they wait for each other, something looks after them meanwhile, so that nothing waits for
// ever. Private to the backend.
#ifndef DP_BACKENDS_CUDA_WAITING_H
#define DP_BACKENDS_CUDA_WAITING_H

#include "backends/cuda/gpu/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  // Whether something is under way that may not end by itself.
  bool (*needed)(void);
  // Called again and again while the host waits, with how long it has. A failure: what is under way has been given up,
  // and the GPUs have drain_s to become idle.
  dp_status (*look)(double waited_s);
  double drain_s;
} dp_cuda_watch;

// Who looks after the GPUs; lives as long as the process.
void dp_cuda_watch_by(const dp_cuda_watch *watch);

// Block until the event has occurred, or the stream is empty. EX_UNAVAILABLE: the GPU has failed; or what `look` has
// failed with.
dp_status dp_cuda_wait_event(CUevent event) DP_MUST_USE;
dp_status dp_cuda_wait_stream(CUstream stream) DP_MUST_USE;
// Whether some GPU did not become idle after a failure: what it may be using must not be freed.
bool dp_cuda_is_lost(void);

// The monotonic clock, in seconds.
double dp_cuda_now(void);

#ifdef __cplusplus
}
#endif
#endif
