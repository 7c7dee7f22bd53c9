// Range: integers by their position in the whole tensor.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)in, (void)scratch;
  const dp_local *y = &spec->outputs[0].local;
  dp_dtype dtype = spec->outputs[0].dtype;
  bool is_float = dp_type_is_float(dtype);
  int64_t bytes = (int64_t)dp_type_bytes(dtype), lo, hi;
  uint64_t start = (uint64_t)dp_node_int(spec->node, "start", 0), delta = (uint64_t)dp_node_int(spec->node, "delta", 1);
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    int64_t number = (int64_t)(start + (uint64_t)dp_local_to_whole(y, 0, i) * delta);
    char *element = (char *)out[0] + i * bytes;
    if (is_float)
      dp_element_set(dtype, element, (double)number);
    else
      memcpy(element, &number, (size_t)bytes);  // little-endian, so this is modulo 2^bits
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Range = {
    .name = "cpu.reference.Range",
    .op = "Range",
    .domain = "",
    .types = DP_ANY_TYPE,
    .parts = true,
    .run = run,
};
