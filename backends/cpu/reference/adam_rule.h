// What dp.Adam does to each parameter in one step. adam.c has the formulas.
#ifndef DP_BACKENDS_CPU_REFERENCE_ADAM_RULE_H
#define DP_BACKENDS_CPU_REFERENCE_ADAM_RULE_H

typedef struct {
  double gradient;     // its factor
  double keep, decay;  // keep: factor of w; decay: w's share of the gradient
  double beta1, beta2, eps;
  double rate, scale;  // lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
} dp_adam_rule;

#endif
