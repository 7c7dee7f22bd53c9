// Whether a plan fits into its devices' memory (--memory), and if not, which options would.
#ifndef DP_PASSES_FIT_H
#define DP_PASSES_FIT_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// The plan's memory on each device: all its arenas there, in bytes. If there are several roles, the largest.
typedef struct {
  uint64_t persistent;  // parameters, buffers, optimizer state, constants, and what kernels have packed
  uint64_t rest;        // activations, gradients, scratch, peer windows
} dp_fit_bytes;
dp_fit_bytes dp_fit_measure(const Dp__Plan *plan);
// The most bytes that kernels have packed operands in on any device (docs/plan.md, "Packed operands").
uint64_t dp_fit_packed(const Dp__Plan *plan);

// Reads the source model again into an arena.
typedef dp_status (*dp_fit_read)(void *arg, dp_arena *arena, dp_model **model);

// EX_CONFIG when the plan made with these options takes more than options->memory_bytes (0: no limit) on a device. If
// it fits once nothing is packed, or the stages of a pipeline are partitioned otherwise, *plan becomes that plan, in
// the arena. The message names options that fit: a smaller batch, more devices, stages or micro-batches, another
// schedule, a stage of ZeRO. Each was found by compiling, at most a few dozen times.
dp_status dp_fit_check(dp_arena *arena, const dp_options *options, dp_fit_read read, void *arg,
                       Dp__Plan **plan) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
