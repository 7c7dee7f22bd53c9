// Transposition of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_TRANSPOSE_H
#define DP_BACKENDS_CPU_VECTOR_TRANSPOSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// to (columns, rows) = from (rows, columns), transposed. from_stride, to_stride: floats from one row of each to the
// next. The two lie apart.
typedef void (*dp_vector_transpose)(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                                    int64_t to_stride);

void dp_vector_transpose_avx2(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                              int64_t to_stride);
void dp_vector_transpose_avx512(int64_t rows, int64_t columns, const float *from, int64_t from_stride, float *to,
                                int64_t to_stride);

#ifdef __cplusplus
}
#endif
#endif
