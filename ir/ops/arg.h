// Shared by ArgMax and ArgMin: shape, and rows for every dim except the one searched.
#ifndef DP_IR_OPS_ARG_H
#define DP_IR_OPS_ARG_H

#include "ir/ops/common.h"

dp_status dp_arg_infer(dp_node *node) DP_MUST_USE;
void dp_arg_placements(dp_sharding_rules *rules);

// Everything in the operator's struct except the name.
extern const dp_sample dp_arg_samples[];
#define DP_ARG_SCHEMA                                                                                 \
  .n_inputs = 1, .n_outputs = 1, .inputs = {DP_OPERAND("data", DP_NUMBERS, 0)},                       \
  .outputs = {DP_OPERAND("reduced", DP_BIT(DP_INT64), 0)},                                            \
  .attrs = {DP_INT_ATTR("axis", 0), DP_INT_ATTR("keepdims", 1), DP_INT_ATTR("select_last_index", 0)}, \
  .infer = dp_arg_infer, .sharding = dp_arg_placements, .samples = dp_arg_samples

#endif
