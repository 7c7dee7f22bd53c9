// See batch_normalization.h.
#include "backends/cpu/fast/batch_normalization.h"
#include "backends/cpu/onednn/table.h"

// Floats of a block of channels, over all samples: their statistics and their results are computed from a core's cache.
enum { BLOCK = 1 << 16 };

dp_status dp_fast_batch_normalization_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &dp_vector_batch_normalization_avx2, &dp_vector_batch_normalization_avx512, state);
}

dp_fast_channels dp_fast_channels_of(const dp_call *call) {
  const dp_channels e = dp_channels_of(&call->spec->inputs[0].local);
  dp_fast_channels at = {.rows = {.samples = e.samples, .inner = e.inner, .stride = e.channels * e.inner}};
  dp_part_range(e.channels, call->part, call->parts, &at.first, &at.end);
  return at;
}

bool dp_fast_channels_next(dp_fast_channels *at) {
  const int64_t fit = BLOCK / dp_max_i64(1, at->rows.samples * at->rows.inner);
  at->first += at->rows.channels;
  at->rows.channels = dp_min_i64(at->end - at->first, dp_min_i64(dp_max_i64(1, fit), DP_VECTOR_CHANNELS));
  return at->rows.channels > 0;
}
