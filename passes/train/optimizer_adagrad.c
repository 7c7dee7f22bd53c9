// Adagrad (Duchi, Hazan, Singer 2011), as torch.optim.Adagrad computes it:
//
//   g += weight_decay * w;  s' = s + g * g
//   w' = w - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s') + eps)
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

dp_value *dp_optimizer_adagrad(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  dp_value *g = decayed_gradient(f), *lr = f->lr;
  const dp_optimizer_state s = dp_optimizer_state_add(f, DP_SUM_STATE, o->initial);
  dp_value *sum = dp_optimizer_state_set(f, &s, add(f, s.old, square(f, g)));
  if (o->lr_decay > 0) lr = quotient(f, lr, plus(f, times(f, plus(f, f->t, -1), o->lr_decay), 1));
  return sub(f, f->w, mul(f, scalar(f, lr), quotient(f, g, plus(f, root(f, sum), o->eps))));
}
