// Lion (Chen and others 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2):
//
//   w *= 1 - lr * weight_decay;  w' = w - lr * sign(beta1 * m + (1 - beta1) * g);  m' = beta2 * m + (1 - beta2) * g
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

dp_value *dp_optimizer_lion(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MEAN_STATE, 0);
  dp_value *direction = dp_build1(f->builder, "Sign", blend(f, o->beta1, m.old, f->g));
  (void)dp_optimizer_state_set(f, &m, blend(f, o->beta2, m.old, f->g));
  return sub(f, decayed_parameter(f), mul(f, scalar(f, f->lr), direction));
}
