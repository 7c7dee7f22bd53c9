// dp.Adam(w, m, v, g, lr, step, scale, skip) -> w', m', v': PyTorch's update, computed in float64 and rounded once.
//
//   g = scale * g, rounded;  d = decoupled ? g : g + weight_decay * w
//   kept = decoupled ? w - lr * weight_decay * w : w
//   m' = m + (1 - beta1) * (d - m);  v' = beta2 * v + (1 - beta2) * d * d
//   w' = kept - lr / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + eps), t = step + 1
//
// w' uses m' and v' before they are rounded. The results overwrite w, m and v; if skip is not 0, they are
// w, m and v.
#ifndef T
#include "backends/cpu/reference/adam.h"
#include "backends/cpu/reference/update.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_adam_rule dp_adam_rule_of(const dp_kernel_spec *spec, const void *const *in) {
  const dp_node *node = spec->node;
  bool decoupled = dp_node_int(node, "decoupled", 0) != 0;
  double decay = dp_node_float(node, "weight_decay", 0), t = (double)dp_scalar_i64(spec, in, 5) + 1;
  const double lr = dp_element_get(spec->inputs[4].dtype, in[4]);
  dp_adam_rule r = {.gradient = dp_update_scale(spec, in),
                    .keep = decoupled ? 1 - lr * decay : 1,
                    .decay = decoupled ? 0 : decay,
                    .beta1 = dp_node_float(node, "beta1", 0.9),
                    .beta2 = dp_node_float(node, "beta2", 0.999),
                    .eps = dp_node_float(node, "eps", 1e-8)};
  r.rate = lr / (1 - pow(r.beta1, t));
  r.scale = 1 / sqrt(1 - pow(r.beta2, t));
  return r;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  if (dp_update_skips(spec, in, out, part, parts)) return DP_OK;
  const dp_adam_rule r = dp_adam_rule_of(spec, in);
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  if (spec->inputs[0].dtype == DP_FLOAT32)
    update_float(&r, in, out, lo, hi);
  else
    update_double(&r, in, out, lo, hi);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_Adam = {
    .name = "cpu.reference.dp.Adam",
    .op = "Adam",
    .domain = "dp",
    .parts = true,
    .in_place = true,
    .run = run,
};

#else

static void FN(update)(const dp_adam_rule *r, const void *const *in, void *const *out, int64_t lo, int64_t hi) {
  const T *w = in[0], *m = in[1], *v = in[2], *g = in[3];
  T *next_w = out[0], *next_m = out[1], *next_v = out[2];
  for (int64_t i = lo; i < hi; i++) {
    double d = (double)(T)((double)g[i] * r->gradient) + r->decay * (double)w[i];
    double mean = (double)m[i] + (1 - r->beta1) * (d - (double)m[i]);
    double square = r->beta2 * (double)v[i] + (1 - r->beta2) * d * d;
    next_w[i] = (T)(r->keep * (double)w[i] - r->rate * mean / (sqrt(square) * r->scale + r->eps));
    next_m[i] = (T)mean;
    next_v[i] = (T)square;
  }
}
#undef T
#endif
