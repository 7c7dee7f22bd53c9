// Softmax: exp(x) / sum of exp(x) along `axis`. In 16-bit floats every step is rounded, as by the operators that define
// it in ONNX: subtract the largest, exponential, sum (accumulated in a wider type), quotient.
#include <math.h>

#include "backends/cpu/reference/softmax.h"

static double rounded(dp_dtype dtype, double x) { return dp_element_decode(dtype, dp_element_encode(dtype, x, false)); }

// One row of `length` elements that are `stride` apart.
static void half_row(dp_dtype dtype, const uint16_t *x, int64_t length, int64_t stride, uint16_t *y) {
  double most = dp_element_decode(dtype, x[0]), sum = 0;
  for (int64_t k = 1; k < length; k++) {
    double number = dp_element_decode(dtype, x[k * stride]);
    if (number > most) most = number;
  }
  for (int64_t k = 0; k < length; k++) {
    double number = rounded(dtype, dp_element_decode(dtype, x[k * stride]) - most);
    number = rounded(dtype, exp(number));
    y[k * stride] = dp_element_encode(dtype, number, false);
    sum += number;
  }
  sum = rounded(dtype, sum);
  for (int64_t k = 0; k < length; k++)
    y[k * stride] = dp_element_encode(dtype, dp_element_decode(dtype, y[k * stride]) / sum, false);
}

static void half_rows(const dp_call *call) {
  const dp_kernel_spec *spec = call->spec;
  int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  int64_t lo, hi, length = extents[axis], inner = dp_product(extents, axis + 1, rank);
  dp_part_range(dp_product(extents, 0, axis) * inner, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi && length; row++) {
    int64_t at = row / inner * length * inner + row % inner;
    half_row(spec->inputs[0].dtype, (const uint16_t *)call->in[0] + at, length, inner, (uint16_t *)call->out[0] + at);
  }
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_call call = {spec, in, out, scratch, part, parts};
  if (spec->inputs[0].dtype == DP_FLOAT32 || spec->inputs[0].dtype == DP_FLOAT64) return dp_softmax(&call, false);
  half_rows(&call);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Softmax = {
    .name = "cpu.reference.Softmax",
    .op = "Softmax",
    .domain = "",
    .types = DP_UPCAST | DP_BIT(DP_FLOAT16),
    .parts = true,
    .in_place = true,
    .run = run,
};
