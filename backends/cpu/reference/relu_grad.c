// dp.ReluGrad(dY, Y): dY where Y, the result of Relu, is positive (or NaN), else 0.
#include "backends/cpu/reference/elementwise.h"

#define ROW(T, U) DP_BINARY_ROW(relu_grad_##T, T, T, b <= 0 ? 0 : a)
DP_EACH_FLOAT(ROW)

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  static const dp_binary_row rows[DP_MAX_TYPE + 1] = DP_FLOAT_ROWS(relu_grad);
  return dp_elementwise_binary(&(dp_call){spec, in, out, scratch, part, parts}, rows);
}

const dp_kernel dp_kernel_reference_ReluGrad = {
    .name = "cpu.reference.dp.ReluGrad",
    .op = "ReluGrad",
    .domain = "dp",
    .parts = true,
    .in_place = true,
    .run = run,
};
