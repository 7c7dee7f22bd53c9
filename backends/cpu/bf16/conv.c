// Conv of bfloat16 by oneDNN, where it multiplies by AVX-512's instruction.
#define KIND DP_PRIMITIVE_CONV
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/windowed_kernel.h"

// The result when this device has no input channels.
static void fill_with_bias(const dp_local *y, const uint16_t *bias, uint16_t *to) {
  const int64_t count = dp_local_count(y), channels = y->extents[1];
  const int64_t plane = count ? count / y->extents[0] / channels : 0;
  for (int64_t i = 0; i < count; i++) to[i] = bias ? bias[i / plane % channels] : 0;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  const void *bias = spec->n_inputs > 2 ? in[2] : NULL;
  if (state) return dp_chunks_run(state, &(dp_primitive_data){in[0], in[1], bias, out[0]}, scratch);
  fill_with_bias(&spec->outputs[0].local, bias, out[0]);
  return DP_OK;
}

const dp_kernel dp_kernel_bf16_Conv = {
    .name = "cpu.bf16.Conv",
    .op = "Conv",
    .domain = "",
    .types = DP_BIT(DP_BFLOAT16),
    .priority = 11,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_windowed_release,
    .own_threads = true,
    .isa = true,
    .least_isa = DP_ISA_BF16,
    .run = run,
};
