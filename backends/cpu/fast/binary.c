// See binary.h.
#include "backends/cpu/fast/binary.h"

#include "backends/cpu/onednn/table.h"

dp_status dp_fast_binary_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &dp_vector_binary_avx2, &dp_vector_binary_avx512, state);
}

dp_status dp_fast_binary_run(const dp_call *call, dp_vector_binary_row row) {
  const dp_binary_row rows[DP_MAX_TYPE + 1] = {[DP_FLOAT32] = row};
  return dp_elementwise_binary(call, rows);
}
