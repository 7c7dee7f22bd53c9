// Whether a plan fits into the memory of its devices (--memory), and what would if it does not.
#ifndef DP_PASSES_FIT_H
#define DP_PASSES_FIT_H

#include "passes/passes.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a plan takes of each device's memory: all its arenas there, in bytes. Of several roles that with the most.
typedef struct {
  uint64_t persistent;  // parameters, buffers, optimizer state, constants
  uint64_t rest;        // activations, gradients, scratch, what peers map
} dp_fit_bytes;
dp_fit_bytes dp_fit_measure(const Dp__Plan *plan);

// Reads the source model again, afresh, into an arena.
typedef dp_status (*dp_fit_read)(void *arg, dp_arena *arena, dp_model **model);

// EX_CONFIG when the plan, made with these options, takes more than options->memory_bytes (0: no limit) on a device. The
// message names a larger count of devices and a smaller batch that do fit: they were found by compiling, a few dozen times
// at most.
dp_status dp_fit_check(const Dp__Plan *plan, const dp_options *options, dp_fit_read read, void *arg) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
