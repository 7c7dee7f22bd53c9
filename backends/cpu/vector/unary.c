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

enum { TURNED_AT_ONCE = 64 };

static int is_turned(float x) { return fabsf(x) <= DP_VECTOR_TURNED; }

// sin(x + quarters * pi / 2). libm's function for what is too large, infinite or NaN.
static void turned_row(int64_t count, const float *xs, float *ys, int32_t quarters, double (*exact)(double)) {
  for (int64_t at = 0; at < count; at += TURNED_AT_ONCE, xs += TURNED_AT_ONCE, ys += TURNED_AT_ONCE) {
    const int here = count - at < TURNED_AT_ONCE ? (int)(count - at) : TURNED_AT_ONCE;
    float kept[TURNED_AT_ONCE];
    int large = 0;
    for (int i = 0; i < here; i++) {
      kept[i] = xs[i];
      large |= !is_turned(kept[i]);
    }
    for (int i = 0; i < here; i++) ys[i] = dp_vector_sin_turned(is_turned(kept[i]) ? kept[i] : 0, quarters);
    for (int i = 0; large && i < here; i++)
      if (!is_turned(kept[i])) ys[i] = (float)exact((double)kept[i]);
  }
}

static void sin_row(int64_t count, const float *xs, float *ys, float p) {
  (void)p;
  turned_row(count, xs, ys, 0, sin);
}

static void cos_row(int64_t count, const float *xs, float *ys, float p) {
  (void)p;
  turned_row(count, xs, ys, 1, cos);
}

const dp_vector_unary DP_FOR_ISA(dp_vector_unary_) = {
    .exp = exp_row,
    .log = log_row,
    .tanh = tanh_row,
    .erf = erf_row,
    .sigmoid = sigmoid_row,
    .gelu = gelu_row,
    .gelu_tanh = gelu_tanh_row,
    .swish = swish_row,
    .sin = sin_row,
    .cos = cos_row,
};
