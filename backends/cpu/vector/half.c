// Conversions between float32 and 16-bit floats. See half.h.
#include "backends/cpu/vector/half.h"

#include "backends/cpu/vector/half_rows.h"
#include "backends/cpu/vector/isa.h"

const dp_vector_half DP_FOR_ISA(dp_vector_half_) = DP_HALF_ROWS;
