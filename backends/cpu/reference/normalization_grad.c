// See normalization_grad.h. All sums are in float64, the variance's of centred squares.
#ifndef T
#include "backends/cpu/reference/normalization_grad.h"

typedef struct {
  double mean, invstd;
} row_statistics;

// Of one call; statistics: (rows).
typedef struct {
  int64_t rows, length;
  bool about_mean;
  double epsilon;
  row_statistics *statistics;
} gradient_of_rows;

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_normalization_grad_extents dp_normalization_grad_extents_of(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  const int axis = dp_axis(dp_node_int(spec->node, "axis", -1), x->rank);
  return (dp_normalization_grad_extents){dp_product(x->extents, 0, axis), dp_product(x->extents, axis, x->rank)};
}

uint64_t dp_normalization_grad_scratch_bytes(const dp_kernel_spec *spec) {
  return (uint64_t)dp_normalization_grad_extents_of(spec).rows * sizeof(row_statistics);
}

dp_status dp_normalization_grad_run(const dp_call *call, bool about_mean) {
  const dp_kernel_spec *spec = call->spec;
  const dp_normalization_grad_extents e = dp_normalization_grad_extents_of(spec);
  const gradient_of_rows g = {e.rows, e.length, about_mean, dp_node_float(spec->node, "epsilon", 1e-5), call->scratch};
  void *dscale = dp_has_out(spec, 1) ? call->out[1] : NULL, *dbias = dp_has_out(spec, 2) ? call->out[2] : NULL;
  if (spec->inputs[0].dtype == DP_FLOAT32)
    gradient_float(&g, call->in[0], call->in[1], call->in[2], call->out[0], dscale, dbias);
  else
    gradient_double(&g, call->in[0], call->in[1], call->in[2], call->out[0], dscale, dbias);
  return DP_OK;
}

#else

static row_statistics FN(statistics)(const gradient_of_rows *g, const T *x) {
  const double count = g->length ? (double)g->length : 1;
  double mean = 0, square = 0;
  for (int64_t i = 0; i < g->length && g->about_mean; i++) mean += (double)x[i];
  mean /= count;
  for (int64_t i = 0; i < g->length; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean);
  return (row_statistics){mean, 1 / sqrt(square / count + g->epsilon)};
}

static void FN(columns)(const gradient_of_rows *g, const T *x, const T *dy, T *dscale, T *dbias) {
  for (int64_t i = 0; i < g->length; i++) {
    double products = 0, sum = 0;
    for (int64_t r = 0; r < g->rows; r++) {
      const row_statistics s = g->statistics[r];
      const double d = (double)dy[r * g->length + i];
      products += d * ((double)x[r * g->length + i] - s.mean) * s.invstd;
      sum += d;
    }
    if (dscale) dscale[i] = (T)products;
    if (dbias) dbias[i] = (T)sum;
  }
}

static void FN(row)(const gradient_of_rows *g, row_statistics s, const T *x, const T *scale, const T *dy, T *dx) {
  double sum = 0, products = 0;
  for (int64_t i = 0; i < g->length; i++) {
    const double dh = (double)dy[i] * (double)scale[i];
    sum += dh;
    products += dh * ((double)x[i] - s.mean) * s.invstd;
  }
  const double mean = g->about_mean ? sum / (double)g->length : 0, along = products / (double)g->length;
  for (int64_t i = 0; i < g->length; i++) {
    const double h = ((double)x[i] - s.mean) * s.invstd;
    dx[i] = (T)(s.invstd * ((double)dy[i] * (double)scale[i] - mean - h * along));
  }
}

static void FN(gradient)(const gradient_of_rows *g, const T *x, const T *scale, const T *dy, T *dx, T *dscale,
                         T *dbias) {
  for (int64_t r = 0; r < g->rows; r++) g->statistics[r] = FN(statistics)(g, x + r * g->length);
  FN(columns)(g, x, dy, dscale, dbias);
  for (int64_t r = 0, at = 0; r < g->rows; r++, at += g->length)
    FN(row)(g, g->statistics[r], x + at, scale, dy + at, dx + at);
}
#undef T
#endif
