// dp.SoftmaxCrossEntropyLossGrad of float32 scores by vectors: factor * softmax(scores), less the factor at the label.
#include "backends/cpu/fast/cross_entropy.h"

enum { SCORES, LABELS, DLOSS, WEIGHTS };

static bool match(const dp_kernel_spec *spec) { return spec->inputs[SCORES].dtype == DP_FLOAT32; }

// The gradient of the columns; x and y may be the same.
static void differentiate(const dp_vector_cross_entropy *vector, const dp_cross_entropy *l, const dp_fast_columns *at,
                          const float *x, const float *dloss, float *y) {
  float most[DP_VECTOR_COLUMNS], factor[DP_VECTOR_COLUMNS], at_label[DP_VECTOR_COLUMNS];
  double log_sum[DP_VECTOR_COLUMNS];
  bool counts[DP_VECTOR_COLUMNS];
  vector->log_sum(x, l->classes, l->inner, at->width, most, log_sum);
  for (int j = 0; j < at->width; j++) {
    const int64_t label = dp_cross_entropy_label(l, at->label + j);
    const double weight = dp_cross_entropy_weight(l, label);
    const double exact = weight * (double)dloss[l->per_label ? at->label + j : 0] / l->divisor;
    counts[j] = weight != 0;
    factor[j] = (float)exact;
    if (counts[j])
      at_label[j] = (float)(exact * (exp((double)x[label * l->inner + j] - (double)most[j] - log_sum[j]) - 1));
  }
  vector->softmax(x, l->classes, l->inner, at->width, most, log_sum, factor, y);
  for (int j = 0; j < at->width; j++) {
    if (counts[j]) {
      y[dp_cross_entropy_label(l, at->label + j) * l->inner + j] = at_label[j];
    } else {  // an ignored label gives nothing, not even NaN
      for (int64_t c = 0; c < l->classes; c++) y[c * l->inner + j] = 0;
    }
  }
}

// A part is a range of samples.
static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  dp_cross_entropy l;
  DP_TRY(dp_cross_entropy_make(&(dp_call){spec, in, out, scratch, part, parts}, WEIGHTS, &l));
  int64_t lo, hi;
  dp_part_range(l.samples, part, parts, &lo, &hi);
  dp_fast_columns at = dp_fast_columns_of(&l, lo, hi);
  while (dp_fast_columns_next(&l, &at))
    differentiate(state, &l, &at, (const float *)in[SCORES] + at.first, in[DLOSS], (float *)out[0] + at.first);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_dp_SoftmaxCrossEntropyLossGrad = {
    .name = "cpu.fast.dp.SoftmaxCrossEntropyLossGrad",
    .op = "SoftmaxCrossEntropyLossGrad",
    .domain = "dp",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .shares_state = true,
    .match = match,
    .prepare = dp_fast_cross_entropy_prepare,
    .run = run,
};
