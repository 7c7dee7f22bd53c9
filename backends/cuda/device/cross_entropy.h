// SoftmaxCrossEntropyLoss and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_CROSS_ENTROPY_H
#define DP_BACKENDS_CUDA_DEVICE_CROSS_ENTROPY_H

#include "backends/cuda/device/place.h"
#include "backends/cuda/device/report.h"
#include "backends/cuda/device/rows.h"

// scores (samples, classes, inner), labels (samples, inner). Labels are numbered in that order.
typedef struct {
  long long labels_count, classes, inner;
  dp_place place;  // of the labels
  dp_cuda_reporter reporter;
  const void *scores, *labels, *weights;  // weights (classes) or NULL
  long long ignored;
  int has_ignored, per_label;  // per_label: reduction none
  double divisor;              // of a mean; 0: the sum of weights, in `sums`
  double *losses, *sums;       // scratch: of each label its loss; the sum of weights
  long long shares;            // of a label's scores
  dp_exponentials *parts;      // (labels, shares); NULL: a block has all scores of a label
  const void *dloss;
  void *y, *log_prob;  // log_prob may be NULL
} dp_cross_entropy_arguments;

#endif
