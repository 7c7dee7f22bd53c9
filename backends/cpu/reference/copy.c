// Kernels that only copy. See copy.h.
#include "backends/cpu/reference/copy.h"

dp_status dp_copy_run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                      int part, int parts) {
  (void)state, (void)scratch;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  dp_copy((char *)out[0] + lo * bytes, (const char *)in[0] + lo * bytes, (hi - lo) * bytes);
  return DP_OK;
}
