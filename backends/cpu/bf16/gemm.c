// Gemm of bfloat16.
#include "backends/cpu/bf16/product.h"
#include "backends/cpu/onednn/isa.h"
#include "ir/kernel/kernel.h"

static bool match(const dp_kernel_spec *spec) { return dp_isa_allows_bf16(spec->isa); }

static int64_t depth(const dp_kernel_spec *spec) {
  return spec->inputs[0].local.extents[dp_node_int(spec->node, "transA", 0) ? 0 : 1];
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const int64_t *y = spec->outputs[0].local.extents;
  return dp_bf16_product_bytes(y[0], y[1], depth(spec), spec->threads);
}

static dp_bf16_matrix matrix(const dp_kernel_spec *spec, int operand, const char *transposed, const void *first) {
  const int64_t columns = spec->inputs[operand].local.extents[1];
  return dp_node_int(spec->node, transposed, 0) ? (dp_bf16_matrix){first, 1, columns}
                                                : (dp_bf16_matrix){first, columns, 1};
}

// C is broadcast along dims that it lacks, and those of extent 1.
static dp_bf16_matrix added(const dp_kernel_spec *spec, const void *first) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return (dp_bf16_matrix){0};
  const dp_local *c = &spec->inputs[2].local;
  const int64_t columns = c->rank > 0 ? c->extents[c->rank - 1] : 1, rows = c->rank > 1 ? c->extents[c->rank - 2] : 1;
  return (dp_bf16_matrix){first, rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const int64_t *y = spec->outputs[0].local.extents;
  const dp_bf16_product product = {
      .m = y[0],
      .n = y[1],
      .k = depth(spec),
      .a = matrix(spec, 0, "transA", in[0]),
      .b = matrix(spec, 1, "transB", in[1]),
      .c = added(spec, spec->n_inputs > 2 ? in[2] : NULL),
      .y = out[0],
      .alpha = (float)dp_node_float(spec->node, "alpha", 1),
      .beta = (float)dp_node_float(spec->node, "beta", 1),
  };
  dp_bf16_product_run(&product, scratch, part, parts);
  return DP_OK;
}

const dp_kernel dp_kernel_bf16_Gemm = {
    .name = "cpu.bf16.Gemm",
    .op = "Gemm",
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
