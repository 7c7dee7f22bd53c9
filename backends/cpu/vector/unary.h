// Functions of one operand on rows of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_UNARY_H
#define DP_BACKENDS_CPU_VECTOR_UNARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// y[i] = f(x[i]); p: a parameter, of those that have one. y may be x, or lie apart from it.
typedef void (*dp_vector_row)(int64_t count, const float *x, float *y, float p);

// Errors: elementary.h. gelu, gelu_tanh: within a unit and 2^-22 |x|. swish: x sigmoid(p x), within 4 units.
typedef struct {
  dp_vector_row exp, log, tanh, erf, sigmoid, gelu, gelu_tanh, swish, sin, cos;
} dp_vector_unary;

extern const dp_vector_unary dp_vector_unary_avx2, dp_vector_unary_avx512;

#ifdef __cplusplus
}
#endif
#endif
