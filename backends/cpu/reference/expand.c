// Expand: operand 0 broadcast to the result's shape.
#include "backends/cpu/reference/elementwise.h"

// Implemented as a binary operator that ignores its second operand, with row functions by element size.
#define ROW(T) DP_BINARY_ROW(expand_##T, T, T, ((void)b, a))
ROW(uint8_t)
ROW(uint16_t)
ROW(uint32_t)
ROW(uint64_t)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row by_bytes[9] = {
      [1] = expand_uint8_t, [2] = expand_uint16_t, [4] = expand_uint32_t, [8] = expand_uint64_t};
  dp_dtype dtype = spec->inputs[0].dtype;
  dp_binary_row rows[DP_MAX_TYPE + 1] = {0};
  rows[dtype] = by_bytes[dp_type_bytes(dtype)];
  dp_kernel_spec twice = *spec;
  const dp_kernel_operand both[2] = {spec->inputs[0], spec->inputs[0]};
  twice.n_inputs = 2;
  twice.inputs = both;
  const void *operands[2] = {in[0], in[0]};
  return dp_elementwise_binary(&(dp_call){&twice, operands, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_Expand = {
    .name = "cpu.reference.Expand",
    .op = "Expand",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
