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
    .parts = true,
    .isa = true,
    .least_isa = DP_ISA_BF16,
    .run = dp_windowed_run_conv_grad_input,
};
