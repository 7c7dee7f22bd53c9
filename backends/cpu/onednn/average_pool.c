// AveragePool by oneDNN, except where oneDNN counts differently from ONNX: counted padding with windows that ceil_mode
// lets reach beyond it, and dilated windows.
#include "backends/cpu/onednn/windowed.h"

static dp_primitive_kind kind_of(const dp_kernel_spec *spec) {
  return dp_node_int(spec->node, "count_include_pad", 0) ? DP_PRIMITIVE_AVERAGE_POOL_PADDED : DP_PRIMITIVE_AVERAGE_POOL;
}

static bool match(const dp_kernel_spec *spec) {
  size_t count;
  const int64_t *dilations = dp_node_ints(spec->node, "dilations", &count);
  for (size_t i = 0; i < count; i++)
    if (dilations[i] != 1) return false;
  if (kind_of(spec) == DP_PRIMITIVE_AVERAGE_POOL_PADDED && dp_node_int(spec->node, "ceil_mode", 0)) return false;
  return dp_windowed_match(spec, kind_of(spec));
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_windowed_scratch_bytes(spec, kind_of(spec)); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_windowed_prepare(spec, kind_of(spec), state);
}

const dp_kernel dp_kernel_onednn_AveragePool = {
    .name = "cpu.onednn.AveragePool",
    .op = "AveragePool",
    .domain = "",
    .priority = 10,
    .library = true,
    .blocked = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .parts = true,
    .isa = true,
    .run = dp_windowed_run_pool,
};
