// Sums of floats over some dims, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_SUMS_H
#define DP_BACKENDS_CPU_VECTOR_SUMS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of x (outer, kept, inner): y[k] is the sum over the dims around k. `stride` floats from one row of x to the next, of
// which only the first kept * inner are read. Sums are taken in float64, in an order that depends on outer and inner.
typedef void (*dp_vector_sums)(int64_t outer, int64_t kept, int64_t inner, int64_t stride, const float *x, float *y);

void dp_vector_sums_avx2(int64_t outer, int64_t kept, int64_t inner, int64_t stride, const float *x, float *y);
void dp_vector_sums_avx512(int64_t outer, int64_t kept, int64_t inner, int64_t stride, const float *x, float *y);

#ifdef __cplusplus
}
#endif
#endif
