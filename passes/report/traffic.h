// How many bytes a program's computations read and write.
#ifndef DP_PASSES_REPORT_TRAFFIC_H
#define DP_PASSES_REPORT_TRAFFIC_H

#include <stdio.h>

#include "ir/plan/plan.pb-c.h"

// Prints, by kind of computation, how many instructions there are and how many bytes their operands and results have on
// a device: each is passed over once, at the largest shard's size. The plan must have been checked.
void dp_why_traffic_print(const Dp__Program *program, FILE *out);

#endif
