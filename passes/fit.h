// Whether a plan fits into the memory of its devices (--memory), and what would if it does not.
#ifndef DP_PASSES_FIT_H
#define DP_PASSES_FIT_H

#include "passes/base/pass.h"

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

// EX_CONFIG when the plan, made with these options, takes more than options->memory_bytes (0: no limit) on a device. A
// pipeline whose stages can be cut so that it does not becomes that one, in the arena. The message names what does fit:
// a smaller batch, more devices, stages or micro-batches, another schedule, a stage of ZeRO; all of them were found by
// compiling, a few dozen times at most.
dp_status dp_fit_check(dp_arena *arena, const dp_options *options, dp_fit_read read, void *arg,
                       Dp__Plan **plan) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
