// Which parameters are split over mesh axis `tensor`: the parts of passes/strategy/tensor/. See tensor.c.
#ifndef DP_PASSES_STRATEGY_TENSOR_TENSOR_H
#define DP_PASSES_STRATEGY_TENSOR_TENSOR_H

#include "passes/base/pass.h"

#define DP_TENSOR_AXIS "tensor"

// Splits parameters over mesh axis `tensor`, if there is one, by annotations.
dp_status dp_tensor_choose(dp_compile *compile) DP_MUST_USE;

// ---- digest.c: a program with its repetitions left out ----------------------------------------------------------

// One node for each kind of node of a program, and one variable for each kind of variable. Nodes with the same
// operator, attributes, types and neighbourhood are of one kind, so one of many equal layers is left. Variables are
// grouped again, by a smaller neighbourhood: all of a group get the same placement.
typedef struct {
  dp_graph *graph;   // of a model of its own, whose mesh has the axes over which devices share values
  double *times;     // by node of the graph: how many nodes of the program it stands for
  double *held;      // by variable of the digest: how many of the program's
  int32_t *follows;  // by variable of the digest: itself, or the parameter whose state it is
  int32_t *group;    // by variable of the digest
  int32_t *kind;     // by variable of the whole model: which of the digest's; -1: the program does not use it
  int n_groups;
} dp_tensor_digest;

dp_tensor_digest dp_tensor_digest_make(dp_arena *arena, const dp_graph *program);

// ---- views.c: ways to split -------------------------------------------------------------------------------------

typedef struct {
  int count;
  dp_placement *ways;  // Shards
} dp_tensor_ways;

// By variable of the graph's model: the Shards in which some row of a node takes it. Views that are not plain come from
// operators that rearrange elements, and are propagated along the rows.
dp_tensor_ways *dp_tensor_views_find(dp_arena *arena, const dp_graph *graph);

// ---- cost.c: what a way to place a program costs ----------------------------------------------------------------

// Sets the cost in bytes moved between devices; other costs are converted to such bytes. placements: by variable of the
// digest, on axis `axis`. sliced (NULL: not wanted): by variable, the Shard that is most often sliced out of it where
// it is replicated; else Replicate.
dp_status dp_tensor_cost_of(const dp_compile *compile, const dp_tensor_digest *digest, int axis,
                            const dp_placement *placements, double *cost, dp_placement *sliced) DP_MUST_USE;
// Adds a placement to a variable's annotations, copying a list that it shares with others.
void dp_tensor_cost_constraint(dp_arena *arena, dp_variable *p, const char *axis, dp_placement placement);

#endif
