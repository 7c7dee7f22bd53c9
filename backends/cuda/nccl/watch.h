// Looks after exchanges while the host waits for GPUs: asks NCCL for errors, and gives up what stands still for longer
// than --timeout. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_WATCH_H
#define DP_BACKENDS_CUDA_NCCL_WATCH_H

#include <stdint.h>

#include "backends/cuda/nccl/exchange.h"
#include "backends/cuda/nccl/patience.h"

// An exchange begins to be watched, and ends to be. Dropping what was not added does nothing.
void dp_nccl_watch_add(dp_nccl_exchange *exchange);
void dp_nccl_watch_drop(dp_nccl_exchange *exchange);
// The number of the exchange that is issued now, from 1.
uint64_t dp_nccl_watch_count(void);
// If exchanges have been given up, the process cannot make any more: the failure for which.
dp_status dp_nccl_watch_check(void) DP_MUST_USE;
// Gives up all that is under way, since something has failed. Returns the failure.
dp_status dp_nccl_watch_fail(dp_status failure) DP_MUST_USE;

#endif
