// dp.ConvGradInput(w, dy) by oneDNN.
#include "backends/cpu/onednn/windowed.h"

#include <string.h>

static bool match(const dp_kernel_spec *spec) { return dp_windowed_match(spec, DP_PRIMITIVE_CONV_GRAD_INPUT); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_windowed_scratch_bytes(spec, DP_PRIMITIVE_CONV_GRAD_INPUT);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_windowed_prepare(spec, DP_PRIMITIVE_CONV_GRAD_INPUT, state);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  if (state) return dp_chunks_run(state, &(dp_primitive_data){out[0], in[0], NULL, in[1]}, scratch);
  int64_t bytes = dp_local_count(&spec->outputs[0].local) * (int64_t)sizeof(float);
  if (bytes) memset(out[0], 0, (size_t)bytes);
  return DP_OK;
}

const dp_kernel dp_kernel_onednn_dp_ConvGradInput = {
    .name = "cpu.onednn.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
    .priority = 10,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .run = run,
};
