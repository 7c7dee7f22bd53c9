// What ArgMax and ArgMin share: shape, and rows for every dim but the one that is searched.
#ifndef DP_IR_OPS_ARG_H
#define DP_IR_OPS_ARG_H

#include "ir/ops/common.h"

dp_status dp_arg_infer(dp_node *node) DP_MUST_USE;
void dp_arg_placements(dp_sharding_rules *rules);

#endif
