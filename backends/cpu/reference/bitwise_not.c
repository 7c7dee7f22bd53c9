// BitwiseNot: bitwise complement.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_UNARY_ROW(bitwise_not_##T, T, ~x)
DP_EACH_INTEGER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_unary_row rows[DP_MAX_TYPE + 1] = DP_INTEGER_ROWS(bitwise_not);
  return dp_elementwise_unary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_BitwiseNot = {
    .name = "cpu.reference.BitwiseNot",
    .op = "BitwiseNot",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
