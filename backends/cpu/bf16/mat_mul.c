// MatMul of bfloat16: one product when the right operand has rank 2 or less, else one for each matrix.
#include "backends/base/mat_mul_extents.h"
#include "backends/cpu/bf16/product.h"
#include "backends/cpu/onednn/isa.h"
#include "ir/kernel/kernel.h"

static bool match(const dp_kernel_spec *spec) { return dp_isa_allows_bf16(spec->isa); }

static dp_mat_mul extents_of(const dp_kernel_spec *spec) {
  dp_mat_mul e = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  if (spec->inputs[1].local.rank > 2) return e;
  e.m *= e.batches;  // the rows of all left matrices are contiguous
  e.batches = 1;
  e.rank = 0;
  return e;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_mat_mul e = extents_of(spec);
  return dp_bf16_product_bytes(e.m, e.n, e.k, spec->threads);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_mat_mul e = extents_of(spec);
  for (int64_t batch = 0; batch < e.batches; batch++) {
    int64_t a_at, b_at;
    dp_mat_mul_offsets(&e, batch, &a_at, &b_at);
    const dp_bf16_product product = {.m = e.m,
                                     .n = e.n,
                                     .k = e.k,
                                     .a = {(const uint16_t *)in[0] + a_at, e.k, 1},
                                     .b = {(const uint16_t *)in[1] + b_at, e.n, 1},
                                     .y = (uint16_t *)out[0] + batch * e.m * e.n,
                                     .alpha = 1};
    dp_bf16_product_run(&product, scratch, part, parts);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_bf16_MatMul = {
    .name = "cpu.bf16.MatMul",
    .op = "MatMul",
    .domain = "",
    .types = DP_BIT(DP_BFLOAT16),
    .priority = 11,
    .library = true,
    .parts = true,
    .isa = true,
    .least_isa = DP_ISA_BF16,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
