// What kernels of elementwise operators on float32 have in common, whatever the number of their operands.
#ifndef DP_BACKENDS_CPU_FAST_ELEMENTWISE_H
#define DP_BACKENDS_CPU_FAST_ELEMENTWISE_H

#include "ir/kernel/kernel.h"

// All of a dp_kernel but name, op, domain, prepare and run. The state is a table that nobody frees.
#define DP_FAST_ELEMENTWISE                                                                                  \
  .types = DP_BIT(DP_FLOAT32), .priority = 5, .library = true, .parts = true, .isa = true, .in_place = true, \
  .shares_state = true

#endif
