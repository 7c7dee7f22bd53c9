// Updates parameters of type T by gradients of type U and the learning rate. As on the CPU, updates are computed in
// double, but for Adam's quotient, and rounded once. ADAM: 1 for dp.Adam, 0 for dp.SGD. ASSIGN: 1 for dp.Assign, which
// moves elements of the size of T; their new values stand for gradients.
#include "backends/cuda/device/table.h"
#include "backends/cuda/device/update.h"
#include "backends/cuda/device/vectors.h"

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
DP_DEVICE double LOCAL(gradient)(const LOCAL(rule) * r, U g) { return (double)(W)((double)GET_U(g) * r->gradient); }

// in, out: parameter, velocity.
DP_DEVICE void LOCAL(sgd)(const dp_update_arguments *a, const LOCAL(rule) * r, bool has_velocity, const T *in, U g,
                          T *out) {
  const double w = (double)GET(in[0]), d = LOCAL(gradient)(r, g) + a->weight_decay * w;
  double step = d;
  if (has_velocity) {
    const double old = (double)GET(in[1]);
    const double velocity = r->first ? d : a->momentum * old + (1 - a->dampening) * d;
    step = a->nesterov ? d + a->momentum * velocity : velocity;
    out[1] = PUT(velocity);
  }
  out[0] = PUT(w - r->lr * step);
}

DP_DEVICE W LOCAL(root)(W x) { return sizeof(W) == 4 ? (W)sqrtf((float)x) : (W)sqrt((double)x); }

// in, out: parameter, mean, mean of squares. The quotient is taken in W: GPUs divide doubles so slowly that memory
// would wait, and what W loses is far below the last digit of a parameter that moves by it.
DP_DEVICE void LOCAL(adam)(const dp_update_arguments *a, const LOCAL(rule) * r, const T *in, U g, T *out) {
  const double w = (double)GET(in[0]), m = (double)GET(in[1]), v = (double)GET(in[2]);
  const double d = LOCAL(gradient)(r, g) + r->decay * w;
  const double mean = m + (1 - a->beta1) * (d - m), square = a->beta2 * v + (1 - a->beta2) * d * d;
  const W moved = (W)mean / (LOCAL(root)((W)square) * (W)r->scale + (W)a->eps);
  out[0] = PUT(r->keep * w - r->rate * (double)moved);
  out[1] = PUT(mean);
  out[2] = PUT(square);
}

// The results of one element; with `skip` they are the operands.
DP_DEVICE void LOCAL(change)(const dp_update_arguments *a, const LOCAL(rule) * r, bool skip, bool has_velocity,
                             const T *in, U g, T *out) {
  if (skip)
    for (int k = 0; k < 3; k++) out[k] = in[k];
  else if (ASSIGN)
    out[0] = PUT(GET_U(g));
  else if (ADAM)
    LOCAL(adam)(a, r, in, g, out);
  else
    LOCAL(sgd)(a, r, has_velocity, in, g, out);
}

// Neighbouring elements, each operand's read at once.
enum { LOCAL(width) = sizeof(T) < 2 ? 8 : DP_VECTOR_BYTES / sizeof(T) };
typedef struct DP_ALIGNED(LOCAL(width) * sizeof(T)) {
  T e[LOCAL(width)];
} LOCAL(vector);
typedef struct DP_ALIGNED(LOCAL(width) * sizeof(U)) {
  U e[LOCAL(width)];
} LOCAL(gradients);

// What a tensor has as operand k, or its parameter where it has none.
DP_DEVICE const T *LOCAL(operand)(const dp_update_tensor *x, int k) {
  return (const T *)(x->in[k] ? x->in[k] : x->in[0]);
}

DP_DEVICE bool LOCAL(is_aligned)(const dp_update_tensor *x) {
  dp_u64 bits = 0;
  for (int k = 0; k < 3; k++) bits |= (dp_u64)x->in[k] | (dp_u64)x->out[k];
  bits |= (dp_u64)x->gradient;
  return bits % sizeof(LOCAL(vector)) == 0;
}

// Where the gradient of an element is, in NHWC.
typedef struct {
  dp_i64 image, channel, at;  // at: in the plane
} LOCAL(place);

DP_DEVICE LOCAL(place) LOCAL(place_of)(const dp_update_tensor *x, dp_i64 i) {
  const dp_i64 row = i / x->plane, image = row / x->channels;
  const LOCAL(place) place = {image, row - image * x->channels, i - row * x->plane};
  return place;
}

DP_DEVICE U LOCAL(gradient_in)(const dp_update_tensor *x, const LOCAL(place) * p) {
  return ((const U *)x->gradient)[(p->image * x->plane + p->at) * x->channels + p->channel];
}

DP_DEVICE void LOCAL(step_on)(const dp_update_tensor *x, LOCAL(place) * p) {
  if (++p->at < x->plane) return;
  p->at = 0;
  if (++p->channel < x->channels) return;
  p->channel = 0;
  p->image++;
}

DP_DEVICE LOCAL(gradients) LOCAL(gradients_at)(const dp_update_tensor *x, dp_i64 i) {
  if (!x->plane) return *(const LOCAL(gradients) *)((const U *)x->gradient + i);
  LOCAL(gradients) g;
  LOCAL(place) place = LOCAL(place_of)(x, i);
  DP_UNROLL
  for (int l = 0; l < LOCAL(width); l++, LOCAL(step_on)(x, &place)) g.e[l] = LOCAL(gradient_in)(x, &place);
  return g;
}

DP_DEVICE U LOCAL(gradient_at)(const dp_update_tensor *x, dp_i64 i) {
  if (!x->plane) return ((const U *)x->gradient)[i];
  const LOCAL(place) place = LOCAL(place_of)(x, i);
  return LOCAL(gradient_in)(x, &place);
}

DP_DEVICE void LOCAL(change_vector)(const dp_update_arguments *a, const LOCAL(rule) * r, const dp_update_tensor *x,
                                    dp_i64 i) {
  LOCAL(vector) from[3], to[3];
  const LOCAL(gradients) g = LOCAL(gradients_at)(x, i);
  DP_UNROLL
  for (int k = 0; k < 3; k++) from[k] = *(const LOCAL(vector) *)(LOCAL(operand)(x, k) + i);
  DP_UNROLL
  for (int l = 0; l < LOCAL(width); l++) {
    const T in[3] = {from[0].e[l], from[1].e[l], from[2].e[l]};
    T out[3] = {in[0], in[1], in[2]};
    LOCAL(change)(a, r, false, x->in[1] != 0, in, g.e[l], out);
    DP_UNROLL
    for (int k = 0; k < 3; k++) to[k].e[l] = out[k];
  }
  DP_UNROLL
  for (int k = 0; k < 3; k++)
    if (x->out[k]) *(LOCAL(vector) *)((T *)x->out[k] + i) = to[k];
}

DP_DEVICE void LOCAL(change_one)(const dp_update_arguments *a, const LOCAL(rule) * r, bool skip,
                                 const dp_update_tensor *x, dp_i64 i) {
  T in[3], out[3];
  DP_UNROLL
  for (int k = 0; k < 3; k++) out[k] = in[k] = LOCAL(operand)(x, k)[i];
  LOCAL(change)(a, r, skip, x->in[1] != 0, in, LOCAL(gradient_at)(x, i), out);
  DP_UNROLL
  for (int k = 0; k < 3; k++)
    if (x->out[k] && !(skip && x->out[k] == x->in[k])) ((T *)x->out[k])[i] = out[k];
}

// Whether nothing is to be written where nothing changes.
DP_DEVICE bool LOCAL(is_in_place)(const dp_update_tensor *x) {
  bool in_place = true;
  DP_UNROLL
  for (int k = 0; k < 3; k++) in_place = in_place && (!x->out[k] || x->out[k] == x->in[k]);
  return in_place;
}

// What a block's threads have in common is shared, so that registers are left for elements. Vectors know no `skip`,
// which would take more of them: where something is skipped and not in place, elements are moved one by one.
DP_BOUNDED_KERNEL(dp_update_arguments, DP_UPDATE_THREADS, 4) {
  DP_SHARED LOCAL(rule) rule;
  DP_SHARED dp_update_tensor own;
  const bool skip = a.skip && *a.skip;
  if (dp_thread() == 0 && !ASSIGN) LOCAL(make_rule)(&a, &rule);
  if (dp_thread() == DP_WARP)
    own = a.tensors ? a.tensors[LOCAL(table_entry)(&a.tensors->first_block, sizeof *a.tensors, a.n_tensors)] : a.one;
  dp_barrier();
  const dp_update_tensor *x = &own;
  if (skip && LOCAL(is_in_place)(x)) return;
  const bool aligned = !skip && LOCAL(is_aligned)(x);
  const dp_i64 first = (dp_block() - x->first_block) * (DP_UPDATE_THREADS * DP_UPDATE_EACH);
  for (int k = 0; k < DP_UPDATE_EACH / LOCAL(width); k++) {
    const dp_i64 i = first + (k * DP_UPDATE_THREADS + dp_thread()) * LOCAL(width);
    if (i >= x->count) return;
    const dp_i64 end = i + LOCAL(width) < x->count ? i + LOCAL(width) : x->count;
    if (aligned && end == i + LOCAL(width))
      LOCAL(change_vector)(&a, &rule, x, i);
    else
      for (dp_i64 l = i; l < end; l++) LOCAL(change_one)(&a, &rule, skip, x, l);
  }
}
