// OneHot: values[1] at the index along `axis`, values[0] elsewhere. Any type, by its bytes.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *y = &spec->outputs[0].local;
  dp_dtype dtype = spec->inputs[0].dtype;
  int axis = dp_axis(dp_node_int(spec->node, "axis", -1), y->rank);
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(spec->inputs[2].dtype), stride = (int64_t)dp_type_bytes(dtype);
  int64_t depth = y->extents[axis], inner = dp_product(y->extents, axis + 1, y->rank);
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    int64_t at = i / (inner * depth) * inner + i % inner;
    int64_t index = (int64_t)dp_element_get(dtype, (const char *)in[0] + at * stride);
    bool hot = (index < 0 ? index + depth : index) == i / inner % depth;
    memcpy((char *)out[0] + i * bytes, (const char *)in[2] + (hot ? bytes : 0), (size_t)bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_OneHot = {
    .name = "cpu.reference.OneHot",
    .op = "OneHot",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
