// GlobalAveragePool by oneDNN: an AveragePool with one window. Split spatial dims, which give partial sums, are left to the
// reference kernel.
#include "backends/cpu/onednn/windowed.h"

static bool match(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  for (int d = 2; d < x->rank; d++)
    if (x->parts[d] > 1) return false;
  return dp_windowed_match(spec, DP_PRIMITIVE_GLOBAL_AVERAGE_POOL);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_windowed_scratch_bytes(spec, DP_PRIMITIVE_GLOBAL_AVERAGE_POOL);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_windowed_prepare(spec, DP_PRIMITIVE_GLOBAL_AVERAGE_POOL, state);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  if (state) return dp_chunks_run(state, &(dp_primitive_data){in[0], NULL, NULL, out[0]}, scratch);
  float *y = out[0];
  for (int64_t i = 0, count = dp_local_count(&spec->outputs[0].local); i < count; i++) y[i] = 0;
  return DP_OK;
}

const dp_kernel dp_kernel_onednn_GlobalAveragePool = {
    .name = "cpu.onednn.GlobalAveragePool",
    .op = "GlobalAveragePool",
    .domain = "",
    .priority = 10,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .run = run,
};
