// Shared by the operators that draw random numbers, and those that make a tensor from attributes alone. See
// ir/base/philox.h.
#ifndef DP_IR_OPS_RANDOM_H
#define DP_IR_OPS_RANDOM_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

// The attribute key is a 32 bit number and operands `seed` and `step`, where it is given, are of rank 0.
dp_status dp_random_check(const dp_node *node, int seed, int step);
// Result 0 from the attributes shape and dtype (ONNX's number).
dp_status dp_random_infer_made(dp_node *node, uint32_t types);
// Result 0 split along each of its dims; the operands, two at most, stay whole.
void dp_random_sharding(dp_sharding_rules *rules);

#ifdef __cplusplus
}
#endif
#endif
