// Normalises rows. See normalization.h. Statistics are in float64, the variance from centred squares.
#ifndef T
#include "backends/cpu/reference/normalization.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_normalization_rows dp_normalization_rows_inner(const dp_call *call) {
  const dp_local *x = &call->spec->inputs[0].local;
  int axis = dp_axis(dp_node_int(call->spec->node, "axis", -1), x->rank);
  int64_t length = dp_product(x->extents, axis, x->rank);
  return (dp_normalization_rows){.rows = dp_product(x->extents, 0, axis),
                                 .length = length,
                                 .groups = 1,
                                 .per = length,
                                 .inner = 1,
                                 .scale = call->in[1]};
}

dp_normalization_rows dp_normalization_rows_groups(const dp_call *call, int64_t size) {
  const dp_local *x = &call->spec->inputs[0].local;
  int64_t inner = dp_product(x->extents, 2, x->rank), groups = size ? x->extents[1] / size : 0;
  return (dp_normalization_rows){.rows = x->extents[0] * groups,
                                 .length = size * inner,
                                 .groups = groups,
                                 .per = size,
                                 .inner = inner,
                                 .about_mean = true,
                                 .scale = call->in[1],
                                 .bias = call->in[2]};
}

dp_status dp_normalization_run(const dp_call *call, const dp_normalization_rows *rows) {
  double epsilon = dp_node_float(call->spec->node, "epsilon", 1e-5);
  int64_t lo, hi;
  dp_part_range(rows->rows, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    if (call->spec->inputs[0].dtype == DP_FLOAT32)
      normalize_float(rows, row, epsilon, call->in[0], call->out[0]);
    else
      normalize_double(rows, row, epsilon, call->in[0], call->out[0]);
  }
  return DP_OK;
}

#else

static void FN(normalize)(const dp_normalization_rows *r, int64_t row, double epsilon, const T *x, T *y) {
  const T *scale = r->scale, *bias = r->bias;
  T *means = r->mean, *invstds = r->invstd;
  double mean = 0, square = 0, count = r->length ? (double)r->length : 1;
  x += row * r->length;
  y += row * r->length;
  for (int64_t i = 0; i < r->length && r->about_mean; i++) mean += (double)x[i];
  mean /= count;
  for (int64_t i = 0; i < r->length; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean);
  double invstd = 1 / sqrt(square / count + epsilon);
  int64_t first = row % r->groups * r->per;
  for (int64_t i = 0; i < r->length; i++) {
    int64_t channel = first + i / r->inner;
    y[i] = (T)(((double)x[i] - mean) * invstd * (double)scale[channel] + (bias ? (double)bias[channel] : 0));
  }
  if (means) means[row] = (T)mean;
  if (invstds) invstds[row] = (T)invstd;
}
#undef T
#endif
