// Arithmetic of two operands on rows of floats. See binary.h.
#include "backends/cpu/vector/binary.h"

#include "backends/cpu/vector/isa.h"

// Defines row function NAME: y = EXPR of a and b.
#define ROW(NAME, EXPR)                                                                                         \
  static void NAME##_row(int64_t count, const void *pa, int a_stride, const void *pb, int b_stride, void *py) { \
    const float *as = pa, *bs = pb;                                                                             \
    float *ys = py;                                                                                             \
    if (!count) return;                                                                                         \
    const float first_a = *as, first_b = *bs;                                                                   \
    if (a_stride && b_stride) {                                                                                 \
      DP_INDEPENDENT                                                                                            \
      for (int64_t i = 0; i < count; i++) {                                                                     \
        const float a = as[i], b = bs[i];                                                                       \
        ys[i] = (EXPR);                                                                                         \
      }                                                                                                         \
    } else if (a_stride) {                                                                                      \
      DP_INDEPENDENT                                                                                            \
      for (int64_t i = 0; i < count; i++) {                                                                     \
        const float a = as[i], b = first_b;                                                                     \
        ys[i] = (EXPR);                                                                                         \
      }                                                                                                         \
    } else {                                                                                                    \
      DP_INDEPENDENT                                                                                            \
      for (int64_t i = 0; i < count; i++) {                                                                     \
        const float a = first_a, b = b_stride ? bs[i] : first_b;                                                \
        ys[i] = (EXPR);                                                                                         \
      }                                                                                                         \
    }                                                                                                           \
  }

ROW(add, a + b)
ROW(sub, a - b)
ROW(mul, a *b)
ROW(div, a / b)
ROW(relu_grad, b <= 0 ? 0 : a)

const dp_vector_binary DP_FOR_ISA(dp_vector_binary_) = {
    .add = add_row, .sub = sub_row, .mul = mul_row, .div = div_row, .relu_grad = relu_grad_row};
