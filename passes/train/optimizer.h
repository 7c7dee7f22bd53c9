// What the parts of the pass `optimizer` share.
#ifndef DP_PASSES_TRAIN_OPTIMIZER_H
#define DP_PASSES_TRAIN_OPTIMIZER_H

#include "ir/graph/builder.h"
#include "ir/spec/spec.h"

typedef struct {
  int32_t parameter;  // a variable
  dp_value *gradient;
  dp_value *scale;  // its factor, a number of its type; NULL: 1
} dp_optimizer_item;

// optimizer_clip.c: gives all gradients the factor min(1, max_norm / (norm + 1e-6)), where norm is that of all of them
// together, as torch.nn.utils.clip_grad_norm_ does. Failures are in the builder's status.
void dp_optimizer_clip(dp_builder *builder, int n_items, dp_optimizer_item *items, double max_norm);

// optimizer_skip.c: how much data the program's nodes refuse: an int64 of rank 0, the operand `skip` of every update.
// NULL: no node refuses any. Failures are in the builder's status.
dp_value *dp_optimizer_skip(dp_builder *builder);
// Makes what operators compute for variables (running statistics) an update that takes `skip` too. NULL: nothing to do.
void dp_optimizer_guard(dp_builder *builder, dp_value *skip);

enum { DP_OPTIMIZER_MAX_STATES = 2, DP_OPTIMIZER_MAX_ATTRS = 6 };

// An operator that updates a parameter: op(w, states ..., g, lr [, step, scale, skip]) -> w', states' ...
typedef struct {
  const char *op;
  int n_states;                                 // operands for states
  const char *states[DP_OPTIMIZER_MAX_STATES];  // the prefix of each state's name; NULL: it is omitted
  bool step;                                    // takes dp.step
  int n_attrs;
  dp_attr attrs[DP_OPTIMIZER_MAX_ATTRS];
} dp_optimizer_rule;

// optimizer_rule.c: for a parameter of that rank. False: the optimizer has no such operator, but a formula.
bool dp_optimizer_rule_of(const dp_optimizer_spec *spec, int rank, dp_optimizer_rule *rule);

// optimizer_rule.c: the states of a parameter that are as large as it.
int dp_optimizer_copies(const dp_optimizer_spec *spec);

// A variable that an optimizer keeps of a parameter, with what it was before the step.
typedef struct {
  int32_t variable;
  dp_value *old;  // in the formula's type
} dp_optimizer_state;

typedef struct {
  int32_t variable;
  dp_value *next;
} dp_optimizer_change;

// An update in elementary operators. They compute in the parameter's type, but at least in float32.
typedef struct {
  dp_builder *builder;
  const dp_optimizer_spec *spec;  // the parameter's
  int32_t parameter;
  dp_dtype dtype;
  dp_value *w, *g;   // the parameter and its gradient
  dp_value *lr, *t;  // float64, of rank 0: the rate, the number of the step from 1
  dp_value *skip;    // NULL: no node refuses data
  int n_changes;
  dp_optimizer_change *changes;
  dp_value *updated;  // the parameter after the step; set by dp_optimizer_formula_build
} dp_optimizer_formula;

// optimizer_formula.c
// Builds the update that the spec says: states, their new values, and the parameter's, each as a dp.Assign that takes
// `skip`. Failures are in the builder's status.
void dp_optimizer_formula_build(dp_optimizer_formula *f);
// The state `prefix` + parameter, of the parameter's type and shape, `first` in the beginning.
dp_optimizer_state dp_optimizer_state_add(dp_optimizer_formula *f, const char *prefix, double first);
// The same, one float64.
dp_optimizer_state dp_optimizer_number_add(dp_optimizer_formula *f, const char *prefix, double first);
// The state is `next` after the step. Returns `next`.
dp_value *dp_optimizer_state_set(dp_optimizer_formula *f, const dp_optimizer_state *state, dp_value *next);
// Adds a variable that follows the parameter; its first value is `first`.
dp_status dp_optimizer_add_variable(dp_model *model, const char *prefix, int32_t parameter, double first,
                                    int32_t *added);

// Assigns what was set by dp_optimizer_state_set.
void dp_optimizer_formula_assign(dp_optimizer_formula *f);

// optimizer_average.c: the parameter's moving average, of which `updated` is the newest value.
void dp_optimizer_average(dp_optimizer_formula *f, dp_value *updated, double decay);
// Makes "eval" and "infer" read averages.
void dp_optimizer_read_averages(dp_model *model);

// optimizer_<name>.c: the parameter's new value.
typedef dp_value *dp_optimizer_update(dp_optimizer_formula *f);
dp_optimizer_update dp_optimizer_rmsprop, dp_optimizer_adagrad, dp_optimizer_adamax, dp_optimizer_nadam,
    dp_optimizer_radam, dp_optimizer_lion, dp_optimizer_lamb, dp_optimizer_muon;

#endif
