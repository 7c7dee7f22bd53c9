// Operators' samples as nodes: what of an operator depends on attributes and shapes, `dpc ops` reads off them.
#ifndef DP_TOOLS_COMPILE_SAMPLE_H
#define DP_TOOLS_COMPILE_SAMPLE_H

#include "ir/kernel/kernel.h"

// The node of a sample in its own graph, in `arena`, with the most results that it can have; NULL: the sample needs
// other nodes.
dp_node *dp_sample_node(dp_arena *arena, const dp_op *op, const dp_sample *sample);
// Whether the kernel runs any of the operator's samples.
bool dp_sample_runs(dp_arena *arena, const dp_op *op, const dp_kernel *kernel);

#endif
