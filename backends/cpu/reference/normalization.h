// Normalises rows of contiguous elements. Layer, RMS, group and instance normalisation differ in what a row is.
#ifndef DP_BACKENDS_CPU_REFERENCE_NORMALIZATION_H
#define DP_BACKENDS_CPU_REFERENCE_NORMALIZATION_H

#include "backends/cpu/reference/reference.h"

// Element i of row r uses scale and bias number r % groups * per + i / inner.
typedef struct {
  int64_t rows, length, groups, per, inner;
  bool about_mean;           // false: use the mean square and subtract nothing
  const void *scale, *bias;  // bias may be NULL
  void *mean, *invstd;       // results, one for each row; may be NULL
} dp_normalization_rows;

dp_status dp_normalization_run(const dp_call *call, const dp_normalization_rows *rows);
// Rows that consist of the dims from attribute `axis` on.
dp_normalization_rows dp_normalization_rows_inner(const dp_call *call);
// Rows that consist of `size` channels of an operand [N, C, ...].
dp_normalization_rows dp_normalization_rows_groups(const dp_call *call, int64_t size);

#endif
