// Labels of the cross entropy and their weights. A file that includes this has T, of scores and weights, and LABEL
// defined; DP_LABELS defines the functions.
#ifndef DP_BACKENDS_CUDA_DEVICE_LABELS_H
#define DP_BACKENDS_CUDA_DEVICE_LABELS_H

#include "backends/cuda/device/cross_entropy.h"

// The weight of a label, 0 if it is ignored or no class. `label` becomes one that may be used as an index.
#define DP_LABELS(WEIGHT_OF)                                                                                    \
  DP_DEVICE double WEIGHT_OF(const dp_cross_entropy_arguments *a, dp_i64 i, dp_i64 *label) {                    \
    *label = (dp_i64)((const LABEL *)a->labels)[i];                                                             \
    const bool ignored = a->has_ignored && *label == a->ignored, in = *label >= 0 && *label < a->classes;       \
    if (!ignored && !in) dp_report(a->reporter, DP_FAULT_LABEL, dp_place_of(&a->place, i), *label, a->classes); \
    if (!in) *label = 0;                                                                                        \
    if (ignored || !in) return 0;                                                                               \
    return a->weights ? (double)GET(((const T *)a->weights)[*label]) : 1;                                       \
  }

#endif
