// See half.h. The bits are the same on every machine, so the loops are those of the widest vectors that this one has,
// whatever a plan was made for.
#include "backends/cpu/reference/half.h"

#include "backends/cpu/vector/half_rows.h"

const dp_vector_half dp_half_plain = DP_HALF_ROWS;

static const dp_vector_half *rows(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return &dp_vector_half_avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &dp_vector_half_avx2 : &dp_half_plain;
}

void dp_half_from_float16(int64_t count, const void *x, void *y) { rows()->from_float16(count, x, y); }
void dp_half_from_bfloat16(int64_t count, const void *x, void *y) { rows()->from_bfloat16(count, x, y); }
void dp_half_to_float16(int64_t count, const void *x, void *y) { rows()->to_float16(count, x, y); }
void dp_half_to_bfloat16(int64_t count, const void *x, void *y) { rows()->to_bfloat16(count, x, y); }
