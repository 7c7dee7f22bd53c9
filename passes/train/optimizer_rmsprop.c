// RMSprop (Hinton 2012), as torch.optim.RMSprop computes it:
//
//   g += weight_decay * w;  v' = alpha * v + (1 - alpha) * g * g
//   centered: c' = c + (1 - alpha) * (g - c), and c' * c' is taken off v' under the root, which is not below 0
//   d = g / (sqrt(v') + eps);  with momentum: m' = momentum * m + d, and m' for d
//   w' = w - lr * d
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

dp_value *dp_optimizer_rmsprop(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  dp_value *g = decayed_gradient(f);
  const dp_optimizer_state v = dp_optimizer_state_add(f, DP_RMS_STATE, 0);
  dp_value *variance = dp_optimizer_state_set(f, &v, blend(f, o->alpha, v.old, square(f, g)));
  if (o->centered) {
    const dp_optimizer_state c = dp_optimizer_state_add(f, DP_CENTRE_STATE, 0);
    dp_value *centre = add(f, c.old, times(f, sub(f, g, c.old), 1 - o->alpha));
    variance = sub(f, variance, square(f, dp_optimizer_state_set(f, &c, centre)));
    variance = dp_build2(f->builder, "Max", variance, like(f, variance, 0));  // rounding may go below
  }
  dp_value *d = quotient(f, g, plus(f, root(f, variance), o->eps));
  if (o->momentum > 0) {
    const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MOMENTUM_STATE, 0);
    d = dp_optimizer_state_set(f, &m, add(f, times(f, m.old, o->momentum), d));
  }
  return sub(f, f->w, mul(f, scalar(f, f->lr), d));
}
