// Kernels of elementwise operators on two operands of float32 that run the row functions of
// backends/cpu/vector/binary.h.
#ifndef DP_BACKENDS_CPU_FAST_BINARY_H
#define DP_BACKENDS_CPU_FAST_BINARY_H

#include "backends/cpu/fast/elementwise.h"
#include "backends/cpu/reference/elementwise.h"
#include "backends/cpu/vector/binary.h"

// At load: *state is the dp_vector_binary for the instruction set that this process computes by.
dp_status dp_fast_binary_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// Result 0 = row(operand 0, operand 1), broadcast to result 0's shape.
dp_status dp_fast_binary_run(const dp_call *call, dp_vector_binary_row row) DP_MUST_USE;

// What these kernels have in common: all of a dp_kernel but name, op, domain and run.
#define DP_FAST_BINARY DP_FAST_ELEMENTWISE, .prepare = dp_fast_binary_prepare

#endif
