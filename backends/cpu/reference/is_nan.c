// IsNaN: whether x is NaN.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    double value = dp_element_get(dtype, (const char *)in[0] + i * bytes);
    ((bool *)out[0])[i] = isnan(value);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_IsNaN = {
    .name = "cpu.reference.IsNaN",
    .op = "IsNaN",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
