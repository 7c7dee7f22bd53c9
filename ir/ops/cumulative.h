// Shared by CumSum and CumProd: the axis.
#ifndef DP_IR_OPS_CUMULATIVE_H
#define DP_IR_OPS_CUMULATIVE_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// The attribute axis, counted from the front, of a node that passed dp_cumulative_infer.
int dp_cumulative_axis(const dp_node *node);
// Checks that the axis is given; the result has the operand's type.
dp_status dp_cumulative_infer(dp_node *node);

// For dp_op.inputs and dp_op.attrs.
#define DP_CUMULATIVE_AXIS DP_AS_ATTR("axis", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), false)
#define DP_CUMULATIVE_ATTRS \
  {.name = "axis", .kind = DP_ATTR_INT}, DP_INT_ATTR("exclusive", 0), DP_INT_ATTR("reverse", 0)

#ifdef __cplusplus
}
#endif
#endif
