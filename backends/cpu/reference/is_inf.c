// IsInf: whether x is infinite, of either sign or of one.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  bool positive = dp_node_int(spec->node, "detect_positive", 1) != 0;
  bool negative = dp_node_int(spec->node, "detect_negative", 1) != 0;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    double value = dp_element_get(dtype, (const char *)in[0] + i * bytes);
    ((bool *)out[0])[i] = isinf(value) && (value > 0 ? positive : negative);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_IsInf = {
    .name = "cpu.reference.IsInf",
    .op = "IsInf",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
