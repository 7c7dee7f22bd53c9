// RAdam (Liu, Jiang, He, Chen, Liu, Gao, Han 2020), as torch.optim.RAdam computes it. With
// rho(t) = 2 / (1 - beta2) - 1 - 2 * t * beta2^t / (1 - beta2^t):
//
//   g += weight_decay * w, or w *= 1 - lr * weight_decay;  m, v as Adam's;  m^ = m' / (1 - beta1^t)
//   rho(t) > 5: w' = w - lr * m^ * r(t) * sqrt(1 - beta2^t) / (sqrt(v') + eps), else w' = w - lr * m^
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

static dp_value *where(const dp_optimizer_formula *f, dp_value *condition, dp_value *x, dp_value *y) {
  return dp_build(f->builder, "Where", 3, (dp_value *[]){condition, x, y}, 1, 0, NULL);
}

// r(t) = sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho)), where `most` is the limit of rho(t).
static dp_value *rectification(const dp_optimizer_formula *f, dp_value *rho, double most) {
  dp_value *above = times(f, mul(f, plus(f, rho, -4), plus(f, rho, -2)), most);
  return root(f, quotient(f, above, times(f, rho, (most - 4) * (most - 2))));
}

dp_value *dp_optimizer_radam(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  const double most = 2 / (1 - o->beta2) - 1;
  dp_value *g = o->decoupled ? f->g : decayed_gradient(f), *w = o->decoupled ? decayed_parameter(f) : f->w;
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MEAN_STATE, 0);
  const dp_optimizer_state v = dp_optimizer_state_add(f, DP_SQUARE_STATE, 0);
  dp_value *mean = dp_optimizer_state_set(f, &m, blend(f, o->beta1, m.old, g));
  dp_value *squares = dp_optimizer_state_set(f, &v, blend(f, o->beta2, v.old, square(f, g)));
  dp_value *faded = power(f, o->beta2, f->t), *left = minus(f, 1, faded);
  dp_value *rho = minus(f, most, quotient(f, times(f, mul(f, f->t, faded), 2), left));
  dp_value *rectified = dp_build2(f->builder, "Greater", rho, like(f, rho, 5));
  // The other branch must have a root too.
  dp_value *safe = where(f, rectified, rho, like(f, rho, 5));
  dp_value *scale = mul(f, rectification(f, safe, most), root(f, left));
  dp_value *adaptive = quotient(f, scalar(f, scale), plus(f, root(f, squares), o->eps));
  dp_value *lr = quotient(f, f->lr, minus(f, 1, power(f, o->beta1, f->t)));
  dp_value *step = mul(f, mean, where(f, rectified, adaptive, like(f, adaptive, 1)));
  return sub(f, w, mul(f, scalar(f, lr), step));
}
