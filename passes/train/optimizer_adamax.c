// Adamax (Kingma, Ba 2015), as torch.optim.Adamax computes it:
//
//   g += weight_decay * w;  m' = beta1 * m + (1 - beta1) * g;  u' = max(beta2 * u, |g| + eps)
//   w' = w - lr / (1 - beta1^t) * m' / u'
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

dp_value *dp_optimizer_adamax(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  dp_value *g = decayed_gradient(f), *lr = quotient(f, f->lr, minus(f, 1, power(f, o->beta1, f->t)));
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MEAN_STATE, 0);
  const dp_optimizer_state u = dp_optimizer_state_add(f, DP_LARGEST_STATE, 0);
  dp_value *mean = dp_optimizer_state_set(f, &m, blend(f, o->beta1, m.old, g));
  dp_value *least = plus(f, dp_build1(f->builder, "Abs", g), o->eps);
  dp_value *largest = dp_optimizer_state_set(f, &u, dp_build2(f->builder, "Max", times(f, u.old, o->beta2), least));
  return sub(f, f->w, mul(f, scalar(f, lr), quotient(f, mean, largest)));
}
