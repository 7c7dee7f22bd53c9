// Conv of bfloat16 by oneDNN, where it multiplies by AVX-512's instruction.
#define KIND DP_PRIMITIVE_CONV
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/windowed_kernel.h"

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
    .parts = true,
    .isa = true,
    .least_isa = DP_ISA_BF16,
    .run = dp_windowed_run_conv,
};
