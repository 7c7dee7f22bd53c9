// Conversions between float32 and 16-bit floats, compiled once for each instruction set. All give the same bits.
#ifndef DP_BACKENDS_CPU_VECTOR_HALF_H
#define DP_BACKENDS_CPU_VECTOR_HALF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// As in backends/cpu/reference/half.h.
typedef struct {
  void (*from_float16)(int64_t count, const void *x, void *y);
  void (*from_bfloat16)(int64_t count, const void *x, void *y);
  void (*to_float16)(int64_t count, const void *x, void *y);
  void (*to_bfloat16)(int64_t count, const void *x, void *y);
} dp_vector_half;

extern const dp_vector_half dp_vector_half_avx2, dp_vector_half_avx512;

#ifdef __cplusplus
}
#endif
#endif
