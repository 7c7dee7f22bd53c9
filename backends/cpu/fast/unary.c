// See unary.h.
#include "backends/cpu/fast/unary.h"

#include "backends/cpu/onednn/table.h"

dp_status dp_fast_unary_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &dp_vector_unary_avx2, &dp_vector_unary_avx512, state);
}

dp_status dp_fast_unary_run(const dp_call *call, dp_vector_row row, float p) {
  int64_t lo, hi;
  dp_part_range(dp_out_count(call->spec, 0), call->part, call->parts, &lo, &hi);
  if (lo < hi) row(hi - lo, (const float *)call->in[0] + lo, (float *)call->out[0] + lo, p);
  return DP_OK;
}
