// dp.ConvGradInput(w, dy) of bfloat16 by oneDNN, where it multiplies by AVX-512's instruction.
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/windowed.h"

#define KIND DP_PRIMITIVE_CONV_GRAD_INPUT

// Measured: for fewer channels, what is converted and computed in plain layouts takes less time.
enum { FEWEST_CHANNELS = 8 };

static bool match(const dp_kernel_spec *spec) {
  return spec->outputs[0].local.whole[1] >= FEWEST_CHANNELS && dp_windowed_match(spec, KIND);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_windowed_scratch_bytes(spec, KIND); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_windowed_prepare(spec, KIND, state); }

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  return dp_windowed_run(spec, state, &(dp_primitive_data){out[0], in[0], NULL, in[1]}, out[0], scratch);
}

const dp_kernel dp_kernel_bf16_dp_ConvGradInput = {
    .name = "cpu.bf16.dp.ConvGradInput",
    .op = "ConvGradInput",
    .domain = "dp",
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
