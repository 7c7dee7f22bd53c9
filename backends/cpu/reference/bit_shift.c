// BitShift: a negative shift counts as a shift by all bits. Narrow integers are computed in a wider type, so the bits
// beyond their width are cut off.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U)                                                     \
  DP_BINARY_ROW(left_##T, T, T, (U)b < 8 * sizeof(T) ? (U)a << b : 0) \
  DP_BINARY_ROW(right_##T, T, T, (U)b<8 * sizeof(T) ? a >> b : a> 0 ? (T)0 : (T)(a >> (8 * sizeof(T) - 1) >> 1))
DP_EACH_INTEGER(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row left[DP_MAX_TYPE + 1] = DP_INTEGER_ROWS(left), right[] = DP_INTEGER_ROWS(right);
  bool to_left = !strcmp(dp_node_string(spec->node, "direction", ""), "LEFT");
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, to_left ? left : right);
}

const dp_kernel dp_kernel_reference_BitShift = {
    .name = "cpu.reference.BitShift",
    .op = "BitShift",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
