// Which parameters are split over mesh axis `tensor`: the parts of passes/tensor*.c. See tensor.c.
#ifndef DP_PASSES_STRATEGY_TENSOR_TENSOR_H
#define DP_PASSES_STRATEGY_TENSOR_TENSOR_H

#include "passes/base/pass.h"

#define DP_TENSOR_AXIS "tensor"

// Splits parameters over mesh axis `tensor`, where there is one, by annotations.
dp_status dp_tensor_choose(dp_compile *compile) DP_MUST_USE;

// ---- digest.c: a program with its repetitions left out ----------------------------------------------------------

// One node for each kind of node of a program, and one variable for each kind of those. What has the same operator,
// attributes, types and neighbourhood is of one kind, so that of many equal layers one is left. Variables are grouped
// once more, by a smaller neighbourhood: what is in a group is placed alike.
typedef struct {
  dp_graph *graph;   // of a model of its own, whose mesh has the axes over which devices share values
  double *times;     // by node of the graph: how many nodes of the program it stands for
  double *held;      // by variable of the digest: how many of the program's
  int32_t *follows;  // by variable of the digest: itself, or the parameter whose state it is
  int32_t *group;    // by variable of the digest
  int32_t *kind;     // by variable of the whole model: which of the digest; -1: the program does not use it
  int n_groups;
} dp_tensor_digest;

dp_tensor_digest dp_tensor_digest_make(dp_arena *arena, const dp_graph *program);

// ---- views.c: ways to split -------------------------------------------------------------------------------------

typedef struct {
  int count;
  dp_placement *ways;  // Shards
} dp_tensor_ways;

// By variable of the graph's model: the Shards that some row of a node using it takes it in. Views that are not
// plain come from operators that rearrange elements, and are carried from there along the rows.
dp_tensor_ways *dp_tensor_views_find(dp_arena *arena, const dp_graph *graph);

// ---- cost.c: what a way to place a program costs ----------------------------------------------------------------

// In bytes moved between devices, or what takes as long or is worth as much. placements: by variable of the digest,
// on axis `axis`. sliced (NULL: not asked for): by variable, the Shard that most is cut out of it where it is
// replicated; else Replicate.
dp_status dp_tensor_cost_of(const dp_compile *compile, const dp_tensor_digest *digest, int axis,
                            const dp_placement *placements, double *cost, dp_placement *sliced) DP_MUST_USE;
// Puts a placement into the annotations of a variable; those that others share stay as they are.
void dp_tensor_cost_constraint(dp_arena *arena, dp_variable *p, const char *axis, dp_placement placement);

#endif
