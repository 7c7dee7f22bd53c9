// How many bytes a program's computations read and write.
#ifndef DP_PASSES_REPORT_TRAFFIC_H
#define DP_PASSES_REPORT_TRAFFIC_H

#include <stdio.h>

#include "ir/plan/plan.pb-c.h"

// Prints, by kind of computation, the number of instructions and the bytes of their operands and results on a device,
// at the largest shard's size. Each operand and result counts once. The plan must have been checked.
void dp_why_traffic_print(const Dp__Program *program, FILE *out);

#endif
