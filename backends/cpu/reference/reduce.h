// Sums and means over some dims of operand 0.
#ifndef DP_BACKENDS_CPU_REFERENCE_REDUCE_H
#define DP_BACKENDS_CPU_REFERENCE_REDUCE_H

#include "backends/cpu/reference/reference.h"

// The number of elements of the whole tensor that a mean over the marked dims divides by; of none, 1.
int64_t dp_reduce_divisor(const dp_local *x, const bool reduced[DP_MAX_RANK]);
// Result 0 = the sum over the marked dims. mean: divides by the number of elements summed in the whole tensor.
dp_status dp_reduce(const dp_call *call, const bool reduced[DP_MAX_RANK], bool mean);

#endif
