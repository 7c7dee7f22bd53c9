// Rows of 16-bit floats as rows of float32, and back: the same bits as dp_element_decode and dp_element_encode give, in
// loops without branches, which compilers make vectors of.
#ifndef DP_BACKENDS_CPU_REFERENCE_HALF_H
#define DP_BACKENDS_CPU_REFERENCE_HALF_H

#include "backends/cpu/vector/half.h"

#ifdef __cplusplus
extern "C" {
#endif

// x and y lie apart. Numbers are rounded to nearest even, those beyond the range to infinity; a NaN is the type's own.
void dp_half_from_float16(int64_t count, const void *x, void *y);
void dp_half_from_bfloat16(int64_t count, const void *x, void *y);
void dp_half_to_float16(int64_t count, const void *x, void *y);
void dp_half_to_bfloat16(int64_t count, const void *x, void *y);

// The same loops for machines without AVX2.
extern const dp_vector_half dp_half_plain;

#ifdef __cplusplus
}
#endif
#endif
