// Kernels of elementwise operators on float32 that run the row functions of backends/cpu/vector/unary.h.
#ifndef DP_BACKENDS_CPU_FAST_UNARY_H
#define DP_BACKENDS_CPU_FAST_UNARY_H

#include "backends/cpu/fast/elementwise.h"
#include "backends/cpu/reference/reference.h"
#include "backends/cpu/vector/unary.h"

// At load: *state is the dp_vector_unary for the instruction set that this process computes by.
dp_status dp_fast_unary_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// Result 0 = row(operand 0, p), of the same shape.
dp_status dp_fast_unary_run(const dp_call *call, dp_vector_row row, float p) DP_MUST_USE;

// What these kernels have in common: all of a dp_kernel but name, op and run.
#define DP_FAST_UNARY .domain = "", DP_FAST_ELEMENTWISE, .prepare = dp_fast_unary_prepare

#endif
