// Elementwise kernels of one operand with parameters from attributes.
#ifndef DP_BACKENDS_CPU_REFERENCE_PARAMETRIC_H
#define DP_BACKENDS_CPU_REFERENCE_PARAMETRIC_H

#include "backends/cpu/reference/elementwise.h"

// Works on `count` elements; p: the parameters.
typedef void (*dp_parametric_row)(int64_t count, const void *x, void *y, const double *p);

// Result 0 = row(operand 0), of the same shape and type; rows: by the dtype of operand 0.
dp_status dp_parametric_run(const dp_call *call, const dp_parametric_row rows[DP_MAX_TYPE + 1], const double *p);

// Defines row function NAME: y = EXPR of x and p.
#define DP_PARAMETRIC_ROW(NAME, T, EXPR)                                       \
  static void NAME(int64_t count, const void *px, void *py, const double *p) { \
    const T *xs = px;                                                          \
    T *ys = py;                                                                \
    for (int64_t i = 0; i < count; i++) {                                      \
      T x = xs[i];                                                             \
      ys[i] = (T)(EXPR);                                                       \
    }                                                                          \
  }

#endif
