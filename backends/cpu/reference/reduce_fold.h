// Reductions other than sums and means. Each result folds its elements in row-major order.
#ifndef DP_BACKENDS_CPU_REFERENCE_REDUCE_FOLD_H
#define DP_BACKENDS_CPU_REFERENCE_REDUCE_FOLD_H

#include "backends/cpu/reference/reference.h"

typedef enum {
  DP_FOLD_MAX,
  DP_FOLD_MIN,
  DP_FOLD_PROD,
  DP_FOLD_L1,
  DP_FOLD_L2,
  DP_FOLD_SUM_SQUARE,
  DP_FOLD_LOG_SUM,
  DP_FOLD_LOG_SUM_EXP,
} dp_fold;

// Reduces operand 0 over the dims of attribute `axes` into result 0. Without elements the result is the type's smallest
// (largest) value for a maximum (minimum), 1 for a product, 0 for sums, -infinity for logarithms. NaN gives NaN.
dp_status dp_reduce_fold(const dp_call *call, dp_fold fold);

#endif
