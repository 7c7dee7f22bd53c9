// dp.SoftmaxCrossEntropyLossGrad(scores, labels, dloss, weights): dloss * weight / divisor * (softmax(scores) -
// onehot(label)).
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
  DP_TRY(dp_cross_entropy_make(&(dp_call){spec, in, out, scratch, part, parts}, 3, &loss));
  if (spec->inputs[0].dtype == DP_FLOAT32)
    gradient_float(&loss, in[0], in[2], out[0]);
  else
    gradient_double(&loss, in[0], in[2], out[0]);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_SoftmaxCrossEntropyLossGrad = {
    .name = "cpu.reference.dp.SoftmaxCrossEntropyLossGrad",
    .op = "SoftmaxCrossEntropyLossGrad",
    .domain = "dp",
    .in_place = true,
    .run = run,
};

#else

static void FN(gradient)(const dp_cross_entropy *l, const T *scores, const T *dloss, T *dscores) {
  for (int64_t i = 0; i < l->samples * l->inner; i++) {
    int64_t at = i / l->inner * l->classes * l->inner + i % l->inner, label = dp_cross_entropy_label(l, i);
    double most, log_sum, weight = dp_cross_entropy_weight(l, label);
    double factor = weight * (double)dloss[l->per_label ? i : 0] / l->divisor;
    FN(dp_softmax_log_sum)(scores + at, l->classes, l->inner, &most, &log_sum);
    for (int64_t c = 0; c < l->classes; c++) {
      double p = exp((double)scores[at + c * l->inner] - most - log_sum);
      dscores[at + c * l->inner] = (T)(weight == 0 ? 0 : factor * (p - (c == label)));
    }
  }
}
#undef T
#endif
