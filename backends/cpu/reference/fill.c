// dp.Fill: every element is `value`.
#include "backends/cpu/reference/reference.h"

enum { BLOCK = 512 };  // elements that are copied at once

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)in, (void)scratch;
  uint8_t block[BLOCK * 8];
  dp_dtype dtype = spec->outputs[0].dtype;
  size_t bytes = dp_type_bytes(dtype);
  for (size_t i = 0; i < BLOCK; i++) dp_element_set(dtype, block + i * bytes, dp_node_float(spec->node, "value", 0));
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i += BLOCK)
    memcpy((char *)out[0] + (size_t)i * bytes, block, (size_t)dp_min_i64(BLOCK, hi - i) * bytes);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_Fill = {
    .name = "cpu.reference.dp.Fill",
    .op = "Fill",
    .domain = "dp",
    .types = DP_STORED,
    .lays = DP_LAYOUT_OIHW16I32O,
    .parts = true,
    .run = run,
};
