// Looks after meetings of GPUs while the host waits: gives up what stands still for longer than --timeout, and what a
// library tells of. Private to the backend.
#ifndef DP_BACKENDS_CUDA_WATCH_H
#define DP_BACKENDS_CUDA_WATCH_H

#include "backends/cuda/gpu/meeting.h"
#include "backends/cuda/gpu/patience.h"

#ifdef __cplusplus
extern "C" {
#endif

// A library that carries out meetings, and knows more of them. It lives as long as the process.
typedef struct {
  dp_status (*check)(void);  // a failure that it tells of
  void (*abort)(void);       // ends what is under way
} dp_cuda_watch_library;
void dp_cuda_watch_library_add(const dp_cuda_watch_library *library);  // there is one

// A meeting begins to be watched, and ends to be. Dropping what was not added does nothing.
void dp_cuda_watch_add(dp_cuda_meeting *meeting);
void dp_cuda_watch_drop(dp_cuda_meeting *meeting);
// The number of the meeting that is issued now, from 1.
uint64_t dp_cuda_watch_count(void);
// If meetings have been given up, the process cannot have any more: the failure for which.
dp_status dp_cuda_watch_check(void) DP_MUST_USE;
// Gives up all that is under way, since something has failed. Returns the failure.
dp_status dp_cuda_watch_fail(dp_status failure) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
