// NAdam (Dozat 2016), as torch.optim.NAdam computes it. With mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2) and
// p the product of mu(1) to mu(t):
//
//   g += weight_decay * w, or w *= 1 - lr * weight_decay;  m, v as Adam's
//   w' = w - lr * ((1 - mu(t)) / (1 - p) * g + mu(t + 1) / (1 - p * mu(t + 1)) * m') / (sqrt(v' / (1 - beta2^t)) + eps)
//
// The product is a state: one number for each parameter, so that it is where its parameter is.
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

static dp_value *mu(const dp_optimizer_formula *f, dp_value *t) {
  const dp_optimizer_spec *o = f->spec;
  return times(f, minus(f, 1, times(f, power(f, 0.96, times(f, t, o->momentum_decay)), 0.5)), o->beta1);
}

dp_value *dp_optimizer_nadam(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  dp_value *g = o->decoupled ? f->g : decayed_gradient(f), *w = o->decoupled ? decayed_parameter(f) : f->w;
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MEAN_STATE, 0);
  const dp_optimizer_state v = dp_optimizer_state_add(f, DP_SQUARE_STATE, 0);
  const dp_optimizer_state p = dp_optimizer_number_add(f, DP_PRODUCT_STATE, 1);
  dp_value *now = mu(f, f->t), *then = mu(f, plus(f, f->t, 1));
  dp_value *product = dp_optimizer_state_set(f, &p, mul(f, p.old, now));
  dp_value *mean = dp_optimizer_state_set(f, &m, blend(f, o->beta1, m.old, g));
  dp_value *squares = dp_optimizer_state_set(f, &v, blend(f, o->beta2, v.old, square(f, g)));
  dp_value *scale = quotient(f, like(f, f->t, 1), minus(f, 1, power(f, o->beta2, f->t)));
  dp_value *below = plus(f, root(f, mul(f, squares, scalar(f, scale))), o->eps);
  dp_value *of_g = quotient(f, mul(f, f->lr, minus(f, 1, now)), minus(f, 1, product));
  dp_value *of_m = quotient(f, mul(f, f->lr, then), minus(f, 1, mul(f, product, then)));
  dp_value *step = add(f, mul(f, g, scalar(f, of_g)), mul(f, mean, scalar(f, of_m)));
  return sub(f, w, quotient(f, step, below));
}
