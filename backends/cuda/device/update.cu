// Updates parameters of type T by the learning rate. As on the CPU, updates are computed in double and
// rounded once. ADAM: 1 for dp.Adam, 0 for dp.SGD. ASSIGN: 1 for dp.Assign, which moves elements of the size of T.
#include "backends/cuda/device/update.h"

typedef struct {
  double lr, gradient;              // factors of the step and of the gradient
  double keep, decay, rate, scale;  // of Adam: factors of the parameter, of its share of the gradient, of the step
  bool first;
} LOCAL(rule);

DP_DEVICE void LOCAL(make_rule)(const dp_update_arguments *a, LOCAL(rule) * r) {
  const double lr = (double)GET(*(const T *)a->lr);
  r->lr = lr;
  r->gradient = a->scale ? (double)GET(*(const T *)a->scale) : 1;
  r->first = a->step && *a->step == 0;
  if (ADAM) {
    const double t = (double)*a->step + 1;
    r->keep = a->decoupled ? 1 - lr * a->weight_decay : 1;
    r->decay = a->decoupled ? 0 : a->weight_decay;
    r->rate = lr / (1 - pow(a->beta1, t));
    r->scale = 1 / sqrt(1 - pow(a->beta2, t));
  }
}

// Rounded as a product of its own would be.
DP_DEVICE double LOCAL(gradient)(const LOCAL(rule) * r, const void *g, dp_i64 i) {
  return (double)(W)((double)GET(((const T *)g)[i]) * r->gradient);
}

DP_DEVICE void LOCAL(sgd)(const dp_update_arguments *a, const LOCAL(rule) * r, const dp_update_tensor *x, dp_i64 i) {
  const double w = (double)GET(((const T *)x->in[0])[i]), d = LOCAL(gradient)(r, x->in[2], i) + a->weight_decay * w;
  double step = d;
  if (x->in[1]) {
    const double old = (double)GET(((const T *)x->in[1])[i]);
    const double velocity = r->first ? d : a->momentum * old + (1 - a->dampening) * d;
    step = a->nesterov ? d + a->momentum * velocity : velocity;
    if (x->out[1]) ((T *)x->out[1])[i] = PUT(velocity);
  }
  ((T *)x->out[0])[i] = PUT(w - r->lr * step);
}

DP_DEVICE void LOCAL(adam)(const dp_update_arguments *a, const LOCAL(rule) * r, const dp_update_tensor *x, dp_i64 i) {
  const double w = (double)GET(((const T *)x->in[0])[i]), m = (double)GET(((const T *)x->in[1])[i]);
  const double v = (double)GET(((const T *)x->in[2])[i]), d = LOCAL(gradient)(r, x->in[3], i) + r->decay * w;
  const double mean = m + (1 - a->beta1) * (d - m), square = a->beta2 * v + (1 - a->beta2) * d * d;
  ((T *)x->out[0])[i] = PUT(r->keep * w - r->rate * mean / (sqrt(square) * r->scale + a->eps));
  ((T *)x->out[1])[i] = PUT(mean);
  ((T *)x->out[2])[i] = PUT(square);
}

// Each result is its operand.
DP_DEVICE void LOCAL(keep)(const dp_update_tensor *x, dp_i64 i) {
  for (int k = 0; k < 3; k++)
    if (x->out[k] && x->out[k] != x->in[k]) ((T *)x->out[k])[i] = ((const T *)x->in[k])[i];
}

// The tensor that this block works on.
DP_DEVICE int LOCAL(tensor)(const dp_update_arguments *a) {
  int tensor = 0, end = (int)a->n_tensors;
  while (end - tensor > 1) {
    const int middle = (tensor + end) / 2;
    if (a->tensors[middle].first_block <= dp_block())
      tensor = middle;
    else
      end = middle;
  }
  return tensor;
}

DP_BLOCK_KERNEL(dp_update_arguments) {
  DP_SHARED LOCAL(rule) rule;
  const bool skip = a.skip && *a.skip;
  if (dp_thread() == 0 && !ASSIGN) LOCAL(make_rule)(&a, &rule);
  dp_barrier();
  const dp_update_tensor own = a.tensors ? a.tensors[LOCAL(tensor)(&a)] : a.one, *x = &own;
  dp_i64 i = (dp_block() - x->first_block) * (DP_UPDATE_THREADS * DP_UPDATE_EACH) + dp_thread();
  for (int k = 0; k < DP_UPDATE_EACH; k++, i += DP_UPDATE_THREADS) {
    if (i >= x->count) return;
    if (skip)
      LOCAL(keep)(x, i);
    else if (ASSIGN)
      ((T *)x->out[0])[i] = ((const T *)x->in[1])[i];
    else if (ADAM)
      LOCAL(adam)(&a, &rule, x, i);
    else
      LOCAL(sgd)(&a, &rule, x, i);
  }
}
