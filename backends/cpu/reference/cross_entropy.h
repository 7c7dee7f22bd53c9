// SoftmaxCrossEntropyLoss and its gradient: scores (N, C, ...) with labels (N, ...), each label's weight, the mean's divisor.
#ifndef DP_BACKENDS_CPU_REFERENCE_CROSS_ENTROPY_H
#define DP_BACKENDS_CPU_REFERENCE_CROSS_ENTROPY_H

#include "backends/cpu/reference/softmax.h"

typedef struct {
  int64_t samples, classes, inner;  // labels: samples x inner
  dp_dtype dtype, label_dtype;
  const void *labels, *weights;  // weights (C): NULL when absent
  bool has_ignored, per_label;   // per_label: reduction none
  int64_t ignored;
  double divisor;  // of the sum over labels: of a mean; else 1
} dp_cross_entropy;

// Reads the attributes and checks every label: EX_DATAERR for one that is no class. weights: the operand they are in.
dp_status dp_cross_entropy_make(const dp_call *call, int weights, dp_cross_entropy *loss);

// Label `index` (row-major).
static inline int64_t dp_cross_entropy_label(const dp_cross_entropy *loss, int64_t index) {
  return dp_label(loss->label_dtype, loss->labels, index);
}

// Its weight: 0 when it is to be ignored.
static inline double dp_cross_entropy_weight(const dp_cross_entropy *loss, int64_t label) {
  if (loss->has_ignored && label == loss->ignored) return 0;
  if (!loss->weights) return 1;
  return loss->dtype == DP_FLOAT32 ? (double)((const float *)loss->weights)[label]
                                   : ((const double *)loss->weights)[label];
}

#endif
