// ReduceSum and ReduceMean: sums over the dims that `axes` names (all when absent).
#ifndef DP_BACKENDS_CPU_REFERENCE_REDUCE_H
#define DP_BACKENDS_CPU_REFERENCE_REDUCE_H

#include "backends/cpu/reference/reference.h"

// mean: divide by the count of reduced elements of the whole tensor.
dp_status dp_reduce(const dp_call *call, bool mean);

#endif
