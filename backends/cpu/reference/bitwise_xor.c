// BitwiseXor: bitwise exclusive or, broadcast.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(bitwise_xor_##T, T, T, a ^ b)
DP_EACH_INTEGER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = DP_INTEGER_ROWS(bitwise_xor);
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_BitwiseXor = {
    .name = "cpu.reference.BitwiseXor",
    .op = "BitwiseXor",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
