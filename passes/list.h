// The passes, one const struct a file. pipeline.c has their order.
#ifndef DP_PASSES_LIST_H
#define DP_PASSES_LIST_H

#include "passes/passes.h"

extern const dp_pass dp_pass_options;    // options.c
extern const dp_pass dp_pass_batch;      // batch.c
extern const dp_pass dp_pass_precision;  // precision.c
extern const dp_pass dp_pass_loss;       // loss.c
extern const dp_pass dp_pass_programs;   // programs.c
extern const dp_pass dp_pass_autodiff;   // autodiff.c
extern const dp_pass dp_pass_optimizer;  // optimizer.c
extern const dp_pass dp_pass_fold;       // fold.c
extern const dp_pass dp_pass_cse;        // cse.c
extern const dp_pass dp_pass_dce;        // dce.c
extern const dp_pass dp_pass_constants;  // constants.c
extern const dp_pass dp_pass_init;       // init.c
extern const dp_pass dp_pass_strategy;   // strategy.c
extern const dp_pass dp_pass_place;      // place.c
extern const dp_pass dp_pass_bucket;     // bucket.c
extern const dp_pass dp_pass_streams;    // streams.c
extern const dp_pass dp_pass_kernels;    // kernels.c
extern const dp_pass dp_pass_memory;     // memory.c
extern const dp_pass dp_pass_emit;       // emit.c

// strategy.c: whether it was asked for by this name.
bool dp_strategy_is(const dp_options *options, const char *name);

// strategy.c: whether what is gathered of a persistent value is gathered anew for each use, and freed after it.
bool dp_strategy_gathers_again(const dp_options *options);

// cse.c: hashes, for what else tells equal nodes from others.
uint64_t dp_cse_mix(uint64_t hash, uint64_t word);
uint64_t dp_cse_hash_attr(const dp_attr *attr);

// tensor.c: splits parameters over mesh axis `tensor`, where there is one, by annotations.
dp_status dp_tensor_choose(dp_compile *compile) DP_MUST_USE;

#endif
