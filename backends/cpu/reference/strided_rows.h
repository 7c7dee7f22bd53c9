// Kernels that copy strided rows of a tensor: Slice, Transpose. A row is the last dim of the result; any type, by its
// size.
#ifndef DP_BACKENDS_CPU_REFERENCE_STRIDED_ROWS_H
#define DP_BACKENDS_CPU_REFERENCE_STRIDED_ROWS_H

#include "backends/base/strided_rows.h"
#include "backends/cpu/reference/reference.h"

// Fills result 0, the dense tensor, from operand 0.
dp_status dp_strided_rows_copy(const dp_call *call, const dp_strided_rows *rows);

#endif
