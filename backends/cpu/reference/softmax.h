// Softmax and LogSoftmax along one axis, and the row sums that the losses use.
#ifndef DP_BACKENDS_CPU_REFERENCE_SOFTMAX_H
#define DP_BACKENDS_CPU_REFERENCE_SOFTMAX_H

#include "backends/cpu/reference/reference.h"

// Result 0 = the softmax of operand 0, or its logarithm, along attribute `axis` (the last by default).
dp_status dp_softmax(const dp_call *call, bool logarithm);

// Finds the largest of x[0], x[stride] ... x[(count - 1) * stride], and the logarithm of the sum of exp(x - largest).
void dp_softmax_log_sum_float(const float *x, int64_t count, int64_t stride, double *most, double *log_sum);
void dp_softmax_log_sum_double(const double *x, int64_t count, int64_t stride, double *most, double *log_sum);

#endif
