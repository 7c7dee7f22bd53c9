// dp.SGD(w, m, g, lr, step, scale, skip) -> w', m': PyTorch's update, computed in float64 and rounded once.
//
//   g = scale * g, rounded;  d = g + weight_decay * w;  m' = momentum * m + (1 - dampening) * d
//   w' = w - lr * (nesterov ? d + momentum * m' : m')
//
// At step 0 (if `step` is given), m' = d. Without m the direction is d. The results overwrite w and m; if
// skip is not 0, they are w and m.
#ifndef T
#include "backends/cpu/reference/update.h"

typedef struct {
  double lr, gradient, momentum, dampening, weight_decay;
  bool nesterov, first;
} rule;

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  if (dp_update_skips(spec, in, out, part, parts)) return DP_OK;
  const dp_node *node = spec->node;
  rule r = {.lr = dp_element_get(spec->inputs[3].dtype, in[3]),
            .gradient = dp_update_scale(spec, in),
            .momentum = dp_node_float(node, "momentum", 0),
            .dampening = dp_node_float(node, "dampening", 0),
            .weight_decay = dp_node_float(node, "weight_decay", 0),
            .nesterov = dp_node_int(node, "nesterov", 0) != 0,
            .first = dp_has_in(spec, 4) && dp_scalar_i64(spec, in, 4) == 0};
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  const void *m = dp_has_in(spec, 1) ? in[1] : NULL;
  void *next_m = dp_has_out(spec, 1) ? out[1] : NULL;
  if (spec->inputs[0].dtype == DP_FLOAT32)
    update_float(&r, in[0], m, in[2], out[0], next_m, lo, hi);
  else
    update_double(&r, in[0], m, in[2], out[0], next_m, lo, hi);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_SGD = {
    .name = "cpu.reference.dp.SGD",
    .op = "SGD",
    .domain = "dp",
    .parts = true,
    .in_place = true,
    .run = run,
};

#else

static void FN(update)(const rule *r, const T *w, const T *m, const T *g, T *next_w, T *next_m, int64_t lo,
                       int64_t hi) {
  for (int64_t i = lo; i < hi; i++) {
    double d = (double)(T)((double)g[i] * r->gradient) + r->weight_decay * (double)w[i], step = d;
    if (m) {
      double velocity = r->first ? d : r->momentum * (double)m[i] + (1 - r->dampening) * d;
      step = r->nesterov ? d + r->momentum * velocity : velocity;
      if (next_m) next_m[i] = (T)velocity;
    }
    next_w[i] = (T)((double)w[i] - r->lr * step);
  }
}
#undef T
#endif
