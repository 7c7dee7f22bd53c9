// Rows of Softmax and LogSoftmax, and their log-sum-exp. The largest element is subtracted first, so nothing overflows.
#ifndef T
#include "backends/cpu/reference/softmax.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_status dp_softmax(const dp_call *call, bool logarithm) {
  const dp_kernel_spec *spec = call->spec;
  int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  int64_t lo, hi, length = extents[axis], inner = dp_product(extents, axis + 1, rank);
  dp_part_range(dp_product(extents, 0, axis) * inner, call->part, call->parts, &lo, &hi);
  if (length == 0) return DP_OK;
  if (spec->inputs[0].dtype == DP_FLOAT32)
    rows_float(call->in[0], length, inner, logarithm, call->out[0], lo, hi);
  else
    rows_double(call->in[0], length, inner, logarithm, call->out[0], lo, hi);
  return DP_OK;
}

#else

void FN(dp_softmax_log_sum)(const T *x, int64_t count, int64_t stride, double *most, double *log_sum) {
  double m = (double)x[0], sum = 0;
  for (int64_t k = 1; k < count; k++)
    if ((double)x[k * stride] > m) m = (double)x[k * stride];
  // NaN, +infinity, or only -infinity makes the sum NaN, as in PyTorch.
  for (int64_t k = 0; k < count; k++) sum += exp((double)x[k * stride] - m);
  *most = m;
  *log_sum = log(sum);
}

// x, y (outer, length, inner); a row runs along the middle dim, and rows are numbered outer by inner.
static void FN(rows)(const T *x, int64_t length, int64_t inner, bool logarithm, T *y, int64_t lo, int64_t hi) {
  for (int64_t row = lo; row < hi; row++) {
    int64_t at = row / inner * length * inner + row % inner;
    double most, log_sum;
    FN(dp_softmax_log_sum)(x + at, length, inner, &most, &log_sum);
    for (int64_t k = 0; k < length; k++) {
      double z = (double)x[at + k * inner] - most - log_sum;
      y[at + k * inner] = (T)(logarithm ? z : exp(z));
    }
  }
}
#undef T
#endif
