// dp.ScaledDotProductAttentionGrad of bfloat16.
#include "backends/cpu/bf16/attention.h"
#include "backends/cpu/onednn/isa.h"

enum { DY, Q, K, V, Y, LSE, MASK };
enum { DMASK = 3 };

static bool match(const dp_kernel_spec *spec) {
  return !dp_has_out(spec, DMASK) && dp_attention_bf16_match(spec, Q, MASK);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return dp_attention_grad_scratch_bytes(spec, &dp_attention_bf16);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  return dp_attention_grad_run(&dp_attention_bf16, &(dp_call){spec, in, out, scratch, part, parts}, state);
}

const dp_kernel dp_kernel_bf16_ScaledDotProductAttentionGrad = {
    .name = "cpu.bf16.dp.ScaledDotProductAttentionGrad",
    .op = "ScaledDotProductAttentionGrad",
    .domain = "dp",
    .types = DP_BIT(DP_BFLOAT16) | DP_BIT(DP_FLOAT32) | DP_BIT(DP_BOOL) | DP_BIT(DP_INT64),
    .priority = 11,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .parts = true,
    .isa = true,
    .least_isa = DP_ISA_BF16,
    .prepare = dp_attention_prepare,
    .run = run,
};
