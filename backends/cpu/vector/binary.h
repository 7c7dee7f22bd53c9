// Arithmetic of two operands on rows of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_BINARY_H
#define DP_BACKENDS_CPU_VECTOR_BINARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// y[i] = f(a[i], b[i]), rounded once. An operand whose stride is 0, not 1, is one float for the whole row. y may be an
// operand, or lies apart from both.
typedef void (*dp_vector_binary_row)(int64_t count, const void *a, int a_stride, const void *b, int b_stride, void *y);

// relu_grad: a where b > 0 or b is NaN, else 0.
typedef struct {
  dp_vector_binary_row add, sub, mul, div, relu_grad;
} dp_vector_binary;

extern const dp_vector_binary dp_vector_binary_avx2, dp_vector_binary_avx512;

#ifdef __cplusplus
}
#endif
#endif
