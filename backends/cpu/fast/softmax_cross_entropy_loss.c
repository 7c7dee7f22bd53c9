// SoftmaxCrossEntropyLoss of float32 scores by vectors.
#include "backends/cpu/fast/cross_entropy.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

// The logarithms of the columns' probabilities; x and y are their first.
static void store_log_prob(const dp_cross_entropy *l, int width, const float *x, const float *most,
                           const double *log_sum, float *y) {
  for (int64_t c = 0; c < l->classes; c++)
    for (int j = 0; j < width; j++) {
      const int64_t i = c * l->inner + j;
      y[i] = (float)((double)x[i] - (double)most[j] - log_sum[j]);
    }
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_cross_entropy *vector = state;
  dp_cross_entropy l;
  DP_TRY(dp_cross_entropy_make(&(dp_call){spec, in, out, scratch, part, parts}, 2, &l));
  const float *scores = in[0];
  float *y = out[0], *log_prob = dp_has_out(spec, 1) ? out[1] : NULL;
  double total = 0;
  dp_fast_columns at = dp_fast_columns_of(&l, 0, l.samples);
  while (dp_fast_columns_next(&l, &at)) {
    float most[DP_VECTOR_COLUMNS];
    double log_sum[DP_VECTOR_COLUMNS];
    vector->log_sum(scores + at.first, l.classes, l.inner, at.width, most, log_sum);
    for (int j = 0; j < at.width; j++) {
      const int64_t label = dp_cross_entropy_label(&l, at.label + j);
      const double weight = dp_cross_entropy_weight(&l, label);
      // The scores of an ignored label do not count, not even NaN.
      const double loss =
          weight == 0 ? 0 : -weight * ((double)scores[at.first + label * l.inner + j] - (double)most[j] - log_sum[j]);
      if (l.per_label) y[at.label + j] = (float)loss;
      total += loss;
    }
    if (log_prob) store_log_prob(&l, at.width, scores + at.first, most, log_sum, log_prob + at.first);
  }
  if (!l.per_label) y[0] = (float)(total / l.divisor);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_SoftmaxCrossEntropyLoss = {
    .name = "cpu.fast.SoftmaxCrossEntropyLoss",
    .op = "SoftmaxCrossEntropyLoss",
    .domain = "",
    .priority = 5,
    .library = true,
    .isa = true,
    .shares_state = true,
    .match = match,
    .prepare = dp_fast_cross_entropy_prepare,
    .run = run,
};
