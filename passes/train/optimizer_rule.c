// The operators that sgd, adam and adamw update parameters with: states and attributes. One function per optimizer.
#include "passes/base/pass.h"
#include "passes/train/optimizer.h"

static void add_float(dp_optimizer_rule *rule, const char *name, double number) {
  rule->attrs[rule->n_attrs++] = dp_attr_float(name, number);
}

static dp_optimizer_rule sgd(const dp_optimizer_spec *spec) {
  bool momentum = spec->momentum > 0, damped = momentum && spec->dampening != 0;
  dp_optimizer_rule rule = {.op = "dp.SGD", .n_states = 1, .step = damped};
  if (momentum) rule.states[0] = DP_MOMENTUM_STATE;
  if (momentum) add_float(&rule, "momentum", spec->momentum);
  if (damped) add_float(&rule, "dampening", spec->dampening);
  if (spec->nesterov) rule.attrs[rule.n_attrs++] = dp_attr_int("nesterov", 1);
  if (spec->weight_decay > 0) add_float(&rule, "weight_decay", spec->weight_decay);
  return rule;
}

static dp_optimizer_rule adam(const dp_optimizer_spec *spec) {
  dp_optimizer_rule rule = {.op = "dp.Adam", .n_states = 2, .states = {DP_MEAN_STATE, DP_SQUARE_STATE}, .step = true};
  add_float(&rule, "beta1", spec->beta1);
  add_float(&rule, "beta2", spec->beta2);
  add_float(&rule, "eps", spec->eps);
  if (spec->weight_decay > 0) add_float(&rule, "weight_decay", spec->weight_decay);
  return rule;
}

static dp_optimizer_rule adamw(const dp_optimizer_spec *spec) {
  dp_optimizer_rule rule = adam(spec);
  if (spec->weight_decay > 0) rule.attrs[rule.n_attrs++] = dp_attr_int("decoupled", 1);
  return rule;
}

// What muon leaves to adamw: all that is no matrix.
static dp_optimizer_rule beside_muon(const dp_optimizer_spec *spec) {
  dp_optimizer_spec other = *spec;
  other.eps = 1e-8;
  return adamw(&other);
}

bool dp_optimizer_rule_of(const dp_optimizer_spec *spec, int rank, dp_optimizer_rule *rule) {
  static dp_optimizer_rule (*const rules[])(const dp_optimizer_spec *) = {
      [DP_OPTIMIZER_SGD] = sgd,
      [DP_OPTIMIZER_ADAM] = adam,
      [DP_OPTIMIZER_ADAMW] = adamw,
      [DP_OPTIMIZER_MUON] = beside_muon,
  };
  if ((size_t)spec->kind >= DP_COUNT(rules) || !rules[spec->kind]) return false;
  if (spec->kind == DP_OPTIMIZER_MUON && rank == 2) return false;
  *rule = rules[spec->kind](spec);
  return true;
}

int dp_optimizer_copies(const dp_optimizer_spec *spec) {
  static const int copies[] = {
      [DP_OPTIMIZER_ADAM] = 2,   [DP_OPTIMIZER_ADAMW] = 2, [DP_OPTIMIZER_RMSPROP] = 1, [DP_OPTIMIZER_ADAGRAD] = 1,
      [DP_OPTIMIZER_ADAMAX] = 2, [DP_OPTIMIZER_NADAM] = 2, [DP_OPTIMIZER_RADAM] = 2,   [DP_OPTIMIZER_LION] = 1,
      [DP_OPTIMIZER_LAMB] = 2,   [DP_OPTIMIZER_MUON] = 1,
  };
  const bool keeps_momentum = spec->kind == DP_OPTIMIZER_SGD || spec->kind == DP_OPTIMIZER_RMSPROP;
  return copies[spec->kind] + (keeps_momentum && spec->momentum > 0) + spec->centered + (spec->ema > 0);
}
