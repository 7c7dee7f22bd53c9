// What the reference kernels of dp.ScaledDotProductAttention and of its gradient share.
#ifndef DP_BACKENDS_CPU_REFERENCE_ATTENTION_H
#define DP_BACKENDS_CPU_REFERENCE_ATTENTION_H

#include "backends/base/attention_extents.h"
#include "backends/cpu/reference/random.h"

// S of one row, [seen]: of the keys that it may see; q: its row of Q, k: its group's first row of K, mask: the row's
// first element, if any.
void dp_attention_scores_float(const dp_attention *a, const float *q, const float *k, const void *mask, int64_t seen,
                               double *s);
void dp_attention_scores_double(const dp_attention *a, const double *q, const double *k, const void *mask, int64_t seen,
                                double *s);

// The random numbers of dropout for an operator whose seed and step are operands `seed` and `seed` + 1.
dp_random dp_attention_random(const dp_call *call, const dp_attention *a, int seed);
// What dropout multiplies each probability of row `row` (of the scores) by: 0 or 1 / (1 - ratio); 1 without dropout.
void dp_attention_keep(const dp_attention *a, const dp_random *random, int64_t row, double *keep);

#endif
