// SoftmaxCrossEntropyLoss and its gradient: scores (N, C, ...), labels (N, ...), label weights, the divisor of the
// mean.
#ifndef DP_BACKENDS_CPU_REFERENCE_CROSS_ENTROPY_H
#define DP_BACKENDS_CPU_REFERENCE_CROSS_ENTROPY_H

#include "backends/cpu/reference/softmax.h"

typedef struct {
  int64_t samples, classes, inner;  // labels: samples x inner
  dp_dtype dtype, label_dtype;
  const void *labels, *weights;  // weights (C) may be NULL
  bool has_ignored, per_label;   // per_label: reduction none
  int64_t ignored;
  double divisor;  // of the sum over labels, for a mean; else 1
} dp_cross_entropy;

// Reads the attributes and checks every label; weights: the number of their operand. EX_DATAERR: a label is not a
// class.
dp_status dp_cross_entropy_make(const dp_call *call, int weights, dp_cross_entropy *loss);

// The label at `index` (row-major).
static inline int64_t dp_cross_entropy_label(const dp_cross_entropy *loss, int64_t index) {
  return dp_label(loss->label_dtype, loss->labels, index);
}

// The weight of a label: 0 if it is ignored.
static inline double dp_cross_entropy_weight(const dp_cross_entropy *loss, int64_t label) {
  if (loss->has_ignored && label == loss->ignored) return 0;
  if (!loss->weights) return 1;
  return loss->dtype == DP_FLOAT32 ? (double)((const float *)loss->weights)[label]
                                   : ((const double *)loss->weights)[label];
}

#endif
