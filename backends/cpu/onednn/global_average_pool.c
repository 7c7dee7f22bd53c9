// GlobalAveragePool by oneDNN: an AveragePool with one window. Split spatial dims, which give partial sums, are left to the
// reference kernel.
#include "backends/cpu/onednn/windowed.h"

// The spec of the primitive; *empty: an extent is 0.
static dp_primitive_spec spec_of(const dp_kernel_spec *spec, bool *empty) {
  const dp_local *x = &spec->inputs[0].local;
  dp_primitive_spec p = {.kind = DP_PRIMITIVE_AVERAGE_POOL,
                         .samples = x->extents[0],
                         .x_channels = x->extents[1],
                         .y_channels = x->extents[1],
                         .groups = 1,
                         .threads = spec->threads};
  p.window.rank = x->rank - 2;
  for (int i = 0; i < p.window.rank; i++) {
    p.window.x[i] = p.window.kernel[i] = x->extents[2 + i];
    p.window.y[i] = p.window.stride[i] = p.window.dilation[i] = 1;
  }
  *empty = dp_local_count(x) == 0;
  p.whole_sample = *empty ? 0 : dp_local_count(x) / x->extents[0] / x->extents[1] * x->whole[1];
  return p;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  bool empty;
  dp_primitive_spec p = spec_of(spec, &empty);
  return empty ? 0 : dp_chunks_scratch_bytes(&p);
}

static bool match(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  bool empty, found = spec->inputs[0].dtype == DP_FLOAT32 && x->rank >= 3 && x->rank <= 2 + DP_MAX_SPATIAL;
  if (!found) return false;
  dp_primitive_spec p = spec_of(spec, &empty);
  for (int d = 2; d < x->rank; d++) found &= x->extents[d] == x->whole[d];
  return empty || (found && dp_chunks_exist(&p));
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  bool empty;
  dp_chunks *chunks = NULL;
  dp_primitive_spec p = spec_of(spec, &empty);
  if (!empty) DP_TRY(dp_chunks_create(&p, &chunks));
  *state = chunks;
  return DP_OK;
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
