// LAMB (You and others 2020, "Large Batch Optimization for Deep Learning", algorithm 2), with the identity for phi:
//
//   m, v as Adam's;  u = m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + eps) + weight_decay * w
//   w' = w - lr * |w| / |u| * u, or w - lr * u where either norm is 0
//
// Norms are those of a whole parameter, wherever its parts are.
#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

static dp_value *norm(const dp_optimizer_formula *f, dp_value *x) {
  int64_t axes[DP_MAX_RANK];
  const int rank = x->type->shape.rank;
  for (int d = 0; d < rank; d++) axes[d] = d;
  dp_value *sum = dp_build_reduce(f->builder, "ReduceSum", square(f, x), axes, (size_t)rank, false);
  return root(f, dp_build_cast(f->builder, sum, DP_FLOAT64));
}

static dp_value *is_positive(const dp_optimizer_formula *f, dp_value *x) {
  return dp_build2(f->builder, "Greater", x, like(f, x, 0));
}

dp_value *dp_optimizer_lamb(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MEAN_STATE, 0);
  const dp_optimizer_state v = dp_optimizer_state_add(f, DP_SQUARE_STATE, 0);
  dp_value *mean = dp_optimizer_state_set(f, &m, blend(f, o->beta1, m.old, f->g));
  dp_value *squares = dp_optimizer_state_set(f, &v, blend(f, o->beta2, v.old, square(f, f->g)));
  dp_value *one = like(f, f->t, 1);
  dp_value *of_m = quotient(f, one, minus(f, 1, power(f, o->beta1, f->t)));
  dp_value *of_v = quotient(f, one, minus(f, 1, power(f, o->beta2, f->t)));
  dp_value *below = plus(f, root(f, mul(f, squares, scalar(f, of_v))), o->eps);
  dp_value *u = quotient(f, mul(f, mean, scalar(f, of_m)), below);
  if (o->weight_decay > 0) u = add(f, u, times(f, f->w, o->weight_decay));
  dp_value *of_w = norm(f, f->w), *of_u = norm(f, u);
  dp_value *both = dp_build2(f->builder, "And", is_positive(f, of_w), is_positive(f, of_u));
  dp_value *ratio = dp_build(f->builder, "Where", 3, (dp_value *[]){both, quotient(f, of_w, of_u), one}, 1, 0, NULL);
  return sub(f, f->w, mul(f, scalar(f, mul(f, f->lr, ratio)), u));
}
