// Sums and means of float32 by vectors, where the dims that are kept lie side by side: gradients of biases, sums of
// rows.
#ifndef DP_BACKENDS_CPU_FAST_REDUCE_H
#define DP_BACKENDS_CPU_FAST_REDUCE_H

#include "ir/kernel/kernel.h"

// For dp_kernel.
bool dp_fast_reduce_match(const dp_kernel_spec *spec);
dp_status dp_fast_reduce_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// Result 0 = the sum over the node's axes. mean: divides by the number of elements summed in the whole tensor.
dp_status dp_fast_reduce_run(const dp_kernel_spec *spec, void *state, const float *x, float *y, int part, int parts,
                             bool mean) DP_MUST_USE;

// What these kernels have in common: all of a dp_kernel but name, op and run.
#define DP_FAST_REDUCE                                                                            \
  .domain = "", .priority = 5, .library = true, .parts = true, .isa = true, .shares_state = true, \
  .match = dp_fast_reduce_match, .prepare = dp_fast_reduce_prepare

#endif
