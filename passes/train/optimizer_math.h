// Short names for what formulas of optimizers are written in. x and y may be of rank 0 where the other is not.
#ifndef DP_PASSES_TRAIN_OPTIMIZER_MATH_H
#define DP_PASSES_TRAIN_OPTIMIZER_MATH_H

#include "passes/train/optimizer.h"

static inline dp_value *add(const dp_optimizer_formula *f, dp_value *x, dp_value *y) {
  return dp_build2(f->builder, "Add", x, y);
}

static inline dp_value *sub(const dp_optimizer_formula *f, dp_value *x, dp_value *y) {
  return dp_build2(f->builder, "Sub", x, y);
}

static inline dp_value *mul(const dp_optimizer_formula *f, dp_value *x, dp_value *y) {
  return dp_build2(f->builder, "Mul", x, y);
}

static inline dp_value *quotient(const dp_optimizer_formula *f, dp_value *x, dp_value *y) {
  return dp_build2(f->builder, "Div", x, y);
}

static inline dp_value *root(const dp_optimizer_formula *f, dp_value *x) { return dp_build1(f->builder, "Sqrt", x); }

static inline dp_value *square(const dp_optimizer_formula *f, dp_value *x) { return mul(f, x, x); }

// A constant of x's type.
static inline dp_value *like(const dp_optimizer_formula *f, const dp_value *x, double number) {
  return dp_build_fill(f->builder, x->type->dtype, number);
}

static inline dp_value *plus(const dp_optimizer_formula *f, dp_value *x, double number) {
  return number != 0 ? add(f, x, like(f, x, number)) : x;
}

static inline dp_value *times(const dp_optimizer_formula *f, dp_value *x, double number) {
  return number != 1 ? mul(f, x, like(f, x, number)) : x;
}

// A float64 of rank 0 for use with tensors.
static inline dp_value *scalar(const dp_optimizer_formula *f, dp_value *x) {
  return dp_build_cast(f->builder, x, f->dtype);
}

// number^x, and number - x.
static inline dp_value *power(const dp_optimizer_formula *f, double number, dp_value *x) {
  return dp_build2(f->builder, "Pow", like(f, x, number), x);
}

static inline dp_value *minus(const dp_optimizer_formula *f, double number, dp_value *x) {
  return sub(f, like(f, x, number), x);
}

// weight * x + (1 - weight) * y
static inline dp_value *blend(const dp_optimizer_formula *f, double weight, dp_value *x, dp_value *y) {
  return add(f, times(f, x, weight), times(f, y, 1 - weight));
}

// Weight decay: of the gradient, or of the parameter itself (w * (1 - lr * weight_decay)).
static inline dp_value *decayed_gradient(const dp_optimizer_formula *f) {
  const double decay = f->spec->weight_decay;
  return decay > 0 ? add(f, f->g, times(f, f->w, decay)) : f->g;
}

static inline dp_value *decayed_parameter(const dp_optimizer_formula *f) {
  const double decay = f->spec->weight_decay;
  return decay > 0 ? mul(f, f->w, scalar(f, minus(f, 1, times(f, f->lr, decay)))) : f->w;
}

#endif
