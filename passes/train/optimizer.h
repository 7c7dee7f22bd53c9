// What the parts of the pass `optimizer` share.
#ifndef DP_PASSES_TRAIN_OPTIMIZER_H
#define DP_PASSES_TRAIN_OPTIMIZER_H

#include "ir/graph/builder.h"
#include "passes/spec/spec.h"

typedef struct {
  int32_t parameter;  // a variable
  dp_value *gradient;
} dp_optimizer_item;

// optimizer_clip.c: scales all gradients by min(1, max_norm / (norm + 1e-6)), where norm is that of all of them
// together, as torch.nn.utils.clip_grad_norm_ does. Failures are in the builder's status.
void dp_optimizer_clip(dp_builder *builder, int n_items, dp_optimizer_item *items, double max_norm);

// optimizer_skip.c: how much data the program's nodes refuse: an int64 of rank 0, the operand `skip` of every update.
// NULL: no node refuses any. Failures are in the builder's status.
dp_value *dp_optimizer_skip(dp_builder *builder);
// Makes what operators compute for variables (running statistics) an update that takes `skip` too. NULL: nothing to do.
void dp_optimizer_guard(dp_builder *builder, dp_value *skip);

enum { DP_OPTIMIZER_MAX_STATES = 2, DP_OPTIMIZER_MAX_ATTRS = 6 };

// The operator that updates a parameter: op(w, states ..., g, lr [, step, skip]) -> w', states' ...
typedef struct {
  const char *op;
  int n_states;                                 // operands for states
  const char *states[DP_OPTIMIZER_MAX_STATES];  // the prefix of each state's name; NULL: it is omitted
  bool step;                                    // takes dp.step
  int n_attrs;
  dp_attr attrs[DP_OPTIMIZER_MAX_ATTRS];
} dp_optimizer_rule;

// optimizer_rule.c
dp_optimizer_rule dp_optimizer_rule_of(const dp_optimizer_spec *spec);

#endif
