// Elementwise kernels: they iterate over broadcasting operands row by row, and each operator supplies the row function.
//
// A row function works on `count` elements. Operands advance by their stride, 0 (one element for the whole row) or 1;
// results advance by 1. Result and operands may have the same address, so nothing here is restrict.
#ifndef DP_BACKENDS_CPU_REFERENCE_ELEMENTWISE_H
#define DP_BACKENDS_CPU_REFERENCE_ELEMENTWISE_H

#include "backends/cpu/reference/reference.h"

typedef void (*dp_unary_row)(int64_t count, const void *x, void *y);
typedef void (*dp_binary_row)(int64_t count, const void *a, int a_stride, const void *b, int b_stride, void *y);

// Result 0 = row(operand 0), of the same shape; rows: by the dtype of operand 0.
dp_status dp_elementwise_unary(const dp_call *call, const dp_unary_row rows[DP_MAX_TYPE + 1]);
// Result 0 = row(operand 0, operand 1), broadcast to result 0's shape.
dp_status dp_elementwise_binary(const dp_call *call, const dp_binary_row rows[DP_MAX_TYPE + 1]);

// The types that kernels compute in (DP_UPCAST): X(T, U), where U is the type to compute in, in which integers wrap.
#define DP_EACH_FLOAT(X) X(float, float) X(double, double)
#define DP_EACH_INTEGER(X) X(int64_t, uint64_t) X(uint64_t, uint64_t) X(int32_t, uint32_t)
#define DP_EACH_NUMBER(X) DP_EACH_FLOAT(X) DP_EACH_INTEGER(X)
// Tables of the row functions NAME_<type>, for the two functions above.
#define DP_FLOAT_ROWS(NAME) \
  { [DP_FLOAT32] = NAME##_float, [DP_FLOAT64] = NAME##_double }
#define DP_INTEGER_ROWS(NAME) \
  { [DP_INT64] = NAME##_int64_t, [DP_INT32] = NAME##_int32_t, [DP_UINT64] = NAME##_uint64_t }
#define DP_NUMBER_ROWS(NAME)                                                                \
  {                                                                                         \
    [DP_FLOAT32] = NAME##_float, [DP_FLOAT64] = NAME##_double, [DP_INT64] = NAME##_int64_t, \
    [DP_INT32] = NAME##_int32_t, [DP_UINT64] = NAME##_uint64_t                              \
  }

// Defines row function NAME for element types T -> R: y = EXPR of a and b.
#define DP_BINARY_ROW(NAME, T, R, EXPR)                                                                   \
  static void NAME(int64_t count, const void *pa, int a_stride, const void *pb, int b_stride, void *py) { \
    const T *as = pa, *bs = pb;                                                                           \
    R *ys = py;                                                                                           \
    if (a_stride && b_stride) {                                                                           \
      for (int64_t i = 0; i < count; i++) {                                                               \
        T a = as[i], b = bs[i];                                                                           \
        ys[i] = (R)(EXPR);                                                                                \
      }                                                                                                   \
    } else if (a_stride) {                                                                                \
      for (int64_t i = 0; i < count; i++) {                                                               \
        T a = as[i], b = bs[0];                                                                           \
        ys[i] = (R)(EXPR);                                                                                \
      }                                                                                                   \
    } else {                                                                                              \
      for (int64_t i = 0; i < count; i++) {                                                               \
        T a = as[0], b = bs[b_stride ? i : 0];                                                            \
        ys[i] = (R)(EXPR);                                                                                \
      }                                                                                                   \
    }                                                                                                     \
  }

// Defines row function NAME: y = EXPR of x.
#define DP_UNARY_ROW(NAME, T, EXPR)                           \
  static void NAME(int64_t count, const void *px, void *py) { \
    const T *xs = px;                                         \
    T *ys = py;                                               \
    for (int64_t i = 0; i < count; i++) {                     \
      T x = xs[i];                                            \
      ys[i] = (T)(EXPR);                                      \
    }                                                         \
  }

#endif
