// SoftmaxCrossEntropyLoss(scores, labels, weights) -> loss, log_prob: the weighted negative logarithm of each label's
// probability, kept, summed or averaged by `reduction`.
#ifndef T
#include "backends/cpu/reference/cross_entropy.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_cross_entropy loss;
  DP_TRY(dp_cross_entropy_make(&(dp_call){spec, in, out, scratch, part, parts}, 2, &loss));
  void *log_prob = dp_has_out(spec, 1) ? out[1] : NULL;
  if (spec->inputs[0].dtype == DP_FLOAT32)
    loss_float(&loss, in[0], out[0], log_prob);
  else
    loss_double(&loss, in[0], out[0], log_prob);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_SoftmaxCrossEntropyLoss = {
    .name = "cpu.reference.SoftmaxCrossEntropyLoss",
    .op = "SoftmaxCrossEntropyLoss",
    .domain = "",
    .run = run,
};

#else

static void FN(loss)(const dp_cross_entropy *l, const T *scores, T *y, T *log_prob) {
  double total = 0;
  for (int64_t i = 0; i < l->samples * l->inner; i++) {
    int64_t at = i / l->inner * l->classes * l->inner + i % l->inner, label = dp_cross_entropy_label(l, i);
    double most, log_sum, weight = dp_cross_entropy_weight(l, label);
    FN(dp_softmax_log_sum)(scores + at, l->classes, l->inner, &most, &log_sum);
    // The scores of an ignored label do not count, not even NaN.
    double loss = weight == 0 ? 0 : -weight * ((double)scores[at + label * l->inner] - most - log_sum);
    if (l->per_label) y[i] = (T)loss;
    total += loss;
    for (int64_t c = 0; log_prob && c < l->classes; c++)
      log_prob[at + c * l->inner] = (T)((double)scores[at + c * l->inner] - most - log_sum);
  }
  if (!l->per_label) y[0] = (T)(total / l->divisor);
}
#undef T
#endif
