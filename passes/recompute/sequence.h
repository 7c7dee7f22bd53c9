// The nodes of a training program in order, with some of the forward pass computed again in the backward pass. Private
// to the pass `recompute`.
#ifndef DP_PASSES_RECOMPUTE_SEQUENCE_H
#define DP_PASSES_RECOMPUTE_SEQUENCE_H

#include "passes/cost/cost_model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  bool *forward;    // (nodes) the program's outputs depend on it; all others are the backward pass and the updates
  bool *candidate;  // (nodes) may be computed twice
  bool *gathers;    // (nodes) gathers a variable, so its result can be had again
  double *ns;       // (nodes) how long it takes
  double *bytes;    // (values) of a device's part; 0: not in transient memory
  double held;      // bytes of the variables
} dp_recompute_work;

// A node, or a second computation of it.
typedef struct {
  int32_t node;
  bool again;
} dp_recompute_step;

typedef struct {
  int32_t count;
  dp_recompute_step *steps;
} dp_recompute_sequence;

// The graph must be in order.
dp_recompute_work dp_recompute_begin(dp_graph *graph, dp_arena *scratch, const dp_target_costs *costs);

// The backward pass reads none of the results of nodes with drop[id]: right before the first node that needs one, it is
// computed again, from what was kept or itself computed again. The sequence is in `arena`.
dp_recompute_sequence dp_recompute_expand(const dp_recompute_work *w, dp_arena *arena, const bool *drop);

typedef struct {
  double bytes;  // the most that is held at any time, if no result lies on its operand
  double ns;     // for computing again
  double held;   // bytes held, added up over the steps
} dp_recompute_estimate;

dp_recompute_estimate dp_recompute_weigh(const dp_recompute_work *w, const bool *drop);

#ifdef __cplusplus
}
#endif
#endif
