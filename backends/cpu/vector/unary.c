// Functions of one operand on rows of floats. See unary.h.
#include "backends/cpu/vector/unary.h"

#include "backends/cpu/vector/elementary.h"
#include "backends/cpu/vector/isa.h"

// Defines row function NAME: y = EXPR of x and p.
#define ROW(NAME, EXPR)                                                        \
  static void NAME##_row(int64_t count, const float *xs, float *ys, float p) { \
    (void)p;                                                                   \
    DP_INDEPENDENT                                                             \
    for (int64_t i = 0; i < count; i++) {                                      \
      const float x = xs[i];                                                   \
      ys[i] = (EXPR);                                                          \
    }                                                                          \
  }

ROW(exp, dp_vector_exp_whole(x))
ROW(log, dp_vector_log(x))
ROW(tanh, dp_vector_tanh(x))
ROW(erf, dp_vector_erf(x))
ROW(sigmoid, dp_vector_sigmoid(x))
ROW(gelu, fmaf(0.5f * x, dp_vector_erf(x * 0.70710678118654752f), 0.5f * x))
ROW(gelu_tanh, fmaf(0.5f * x, dp_vector_tanh(0.79788456080286536f * fmaf(0.044715f * x, x *x, x)), 0.5f * x))
ROW(swish, x *dp_vector_sigmoid(p *x))

const dp_vector_unary DP_FOR_ISA(dp_vector_unary_) = {
    .exp = exp_row,
    .log = log_row,
    .tanh = tanh_row,
    .erf = erf_row,
    .sigmoid = sigmoid_row,
    .gelu = gelu_row,
    .gelu_tanh = gelu_tanh_row,
    .swish = swish_row,
};
