// GreaterOrEqual, with broadcasting: bool. As in IEEE 754, no order holds for NaN.
#include "ir/ops/piecewise.h"

const dp_op dp_op_GreaterOrEqual = {
    .name = "GreaterOrEqual",
    .domain = "",
    DP_COMPARISON_SCHEMA,
};
