// The passes, one const struct a file. pipeline.c has their order.
#ifndef DP_PASSES_LIST_H
#define DP_PASSES_LIST_H

#include "passes/base/pass.h"

extern const dp_pass dp_pass_options;    // options.c
extern const dp_pass dp_pass_batch;      // passes/model/batch.c
extern const dp_pass dp_pass_precision;  // passes/model/precision.c
extern const dp_pass dp_pass_loss;       // passes/model/loss.c
extern const dp_pass dp_pass_partition;  // passes/pipeline/partition.c
extern const dp_pass dp_pass_programs;   // passes/train/programs.c
extern const dp_pass dp_pass_autodiff;   // passes/train/autodiff.c
extern const dp_pass dp_pass_optimizer;  // passes/train/optimizer.c
extern const dp_pass dp_pass_fold;       // passes/simplify/fold.c
extern const dp_pass dp_pass_cse;        // passes/simplify/cse.c
extern const dp_pass dp_pass_dce;        // passes/simplify/dce.c
extern const dp_pass dp_pass_constants;  // passes/simplify/constants.c
extern const dp_pass dp_pass_init;       // passes/train/init.c
extern const dp_pass dp_pass_stages;     // passes/pipeline/stages.c
extern const dp_pass dp_pass_strategy;   // passes/strategy/strategy.c
extern const dp_pass dp_pass_place;      // passes/place/place.c
extern const dp_pass dp_pass_unroll;     // passes/pipeline/unroll.c
extern const dp_pass dp_pass_roles;      // passes/pipeline/roles.c
extern const dp_pass dp_pass_bucket;     // passes/schedule/bucket.c
extern const dp_pass dp_pass_streams;    // passes/schedule/streams.c
extern const dp_pass dp_pass_kernels;    // passes/emit/kernels.c
extern const dp_pass dp_pass_memory;     // passes/memory/memory.c
extern const dp_pass dp_pass_emit;       // passes/emit/emit.c

// passes/strategy/strategy.c: whether it was asked for by this name.
bool dp_strategy_is(const dp_options *options, const char *name);

// passes/strategy/strategy.c: whether what is gathered of a variable is gathered anew for each use, and freed after it.
bool dp_strategy_gathers_again(const dp_options *options);

// options_mesh.c: the mesh that was asked for goes into the model.
dp_status dp_options_mesh_make(dp_compile *compile) DP_MUST_USE;
// Axis `micro` in front of it, of as many micro-batches as were asked for or suit the stages. samples: some input has an axis
// of them.
dp_status dp_options_mesh_add_micro(dp_compile *compile, bool samples) DP_MUST_USE;
// The strategy that was asked for; --mesh alone asks for that of its first of data, pipe, tensor.
const char *dp_options_mesh_strategy(const dp_options *options);

// passes/simplify/cse.c: hashes, for what else tells equal nodes from others.
uint64_t dp_cse_mix(uint64_t hash, uint64_t word);
uint64_t dp_cse_hash_attr(const dp_attr *attr);

// passes/strategy/tensor/tensor.c: splits parameters over mesh axis `tensor`, where there is one, by annotations.
dp_status dp_tensor_choose(dp_compile *compile) DP_MUST_USE;

#endif
