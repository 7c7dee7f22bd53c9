// Muon (Jordan and others 2024), as torch.optim.Muon computes it, of matrices; optimizer_rule.c updates all else as
// AdamW does.
//
//   m' = momentum * m + (1 - momentum) * g;  d = nesterov: (1 - momentum) * g + momentum * m', else m'
//   X = d / max(|d|, eps);  ns_steps times: X = a * X + (b * A + c * A * A) * X, A = X * X^T
//   w' = w * (1 - lr * weight_decay) - lr * adjusted * X
//
// X has as many rows as columns or fewer; otherwise all is transposed. The iteration (Newton-Schulz) is computed in the
// formula's type; PyTorch does it in bfloat16.
#include <math.h>
#include <string.h>

#include "passes/base/pass.h"
#include "passes/train/optimizer_math.h"

static const double a = 3.4445, b = -4.7750, c = 2.0315;  // the coefficients of Jordan's polynomial

// alpha * x * y + beta * z, where z may be NULL.
static dp_value *product(const dp_optimizer_formula *f, double alpha, dp_value *x, bool turn_x, dp_value *y,
                         bool turn_y, double beta, dp_value *z) {
  const dp_attr attrs[] = {dp_attr_float("alpha", alpha), dp_attr_float("beta", beta), dp_attr_int("transA", turn_x),
                           dp_attr_int("transB", turn_y)};
  return dp_build(f->builder, "Gemm", z ? 3 : 2, (dp_value *[]){x, y, z}, 1, DP_COUNT(attrs), attrs);
}

static dp_value *orthogonalized(const dp_optimizer_formula *f, dp_value *d) {
  const dp_dim *dims = d->type->shape.dims;
  const bool tall = dims[0].offset > dims[1].offset;
  dp_value *norm = root(f, dp_build_reduce(f->builder, "ReduceSum", square(f, d), (int64_t[]){0, 1}, 2, false));
  dp_value *x = quotient(f, d, dp_build2(f->builder, "Max", norm, like(f, d, f->spec->eps)));
  for (uint64_t i = 0; i < f->spec->ns_steps; i++) {
    dp_value *gram = product(f, 1, x, tall, x, !tall, 0, NULL);
    dp_value *update = product(f, c, gram, false, gram, false, b, gram);
    x = tall ? product(f, 1, x, false, update, false, a, x) : product(f, 1, update, false, x, false, a, x);
  }
  return x;
}

static double adjustment(const dp_optimizer_formula *f) {
  const double rows = (double)f->w->type->shape.dims[0].offset, columns = (double)f->w->type->shape.dims[1].offset;
  if (!strcmp(f->spec->adjust_lr, "match_rms_adamw")) return 0.2 * sqrt(fmax(rows, columns));
  return sqrt(strcmp(f->spec->adjust_lr, "original") ? rows / columns : fmax(1, rows / columns));
}

dp_value *dp_optimizer_muon(dp_optimizer_formula *f) {
  const dp_optimizer_spec *o = f->spec;
  const dp_optimizer_state m = dp_optimizer_state_add(f, DP_MOMENTUM_STATE, 0);
  dp_value *mean = dp_optimizer_state_set(f, &m, blend(f, o->momentum, m.old, f->g));
  dp_value *direction = orthogonalized(f, o->nesterov ? blend(f, o->momentum, mean, f->g) : mean);
  return sub(f, decayed_parameter(f), mul(f, scalar(f, times(f, f->lr, adjustment(f))), direction));
}
