// ArgMin: the index of the smallest element along an axis; of equal ones the first, or the last on request. NaN counts
// as smaller than anything.
#include "ir/ops/arg.h"

const dp_op dp_op_ArgMin = {
    .name = "ArgMin",
    .domain = "",
    DP_ARG_SCHEMA,
};
