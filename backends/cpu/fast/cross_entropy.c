// See cross_entropy.h.
#include "backends/cpu/fast/cross_entropy.h"

#include "backends/cpu/onednn/table.h"

dp_status dp_fast_cross_entropy_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &dp_vector_cross_entropy_avx2, &dp_vector_cross_entropy_avx512, state);
}
