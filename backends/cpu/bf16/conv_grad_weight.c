// dp.ConvGradWeight(x, dy) of bfloat16 by oneDNN, where it multiplies by AVX-512's instruction. Chunks of samples add
// up in float32, and their sum is rounded once.
#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/windowed.h"
#include "backends/cpu/reference/half.h"

#define KIND DP_PRIMITIVE_CONV_GRAD_WEIGHT

// Measured: for fewer windows, what is converted and multiplied tap by tap takes less time.
enum { FEWEST_WINDOWS = 9 };

// Where a stride of the last dim is longer than x, oneDNN 2.6 reads memory that nobody wrote.
static bool is_longer(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  size_t count;
  const int64_t *strides = dp_node_ints(spec->node, "strides", &count);
  return count && strides[count - 1] > x->whole[x->rank - 1];
}

static bool match(const dp_kernel_spec *spec) {
  const dp_local *dy = &spec->inputs[1].local;
  int64_t windows = 1;
  for (int d = 2; d < dy->rank; d++) windows *= dy->whole[d];
  return windows >= FEWEST_WINDOWS && !is_longer(spec) && dp_windowed_match(spec, KIND);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_windowed_prepare(spec, KIND, state); }

// The sums come first.
static uint64_t sums_bytes(const dp_kernel_spec *spec) {
  return dp_align_up((uint64_t)dp_local_count(&spec->outputs[0].local) * sizeof(float), DP_CPU_ALIGNMENT);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return sums_bytes(spec) + dp_windowed_scratch_bytes(spec, KIND);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_primitive_data data = {in[0], scratch, NULL, in[1]};
  if (!state) return dp_windowed_run(spec, NULL, &data, out[0], NULL, part, parts);
  DP_TRY(dp_windowed_run(spec, state, &data, scratch, (char *)scratch + sums_bytes(spec), part, parts));
  dp_half_to_bfloat16(dp_local_count(&spec->outputs[0].local), scratch, out[0]);
  return DP_OK;
}

const dp_kernel dp_kernel_bf16_dp_ConvGradWeight = {
    .name = "cpu.bf16.dp.ConvGradWeight",
    .op = "ConvGradWeight",
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
