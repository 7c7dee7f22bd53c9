// ArgMax: the index of the largest element along an axis; of equal ones the first, or the last on request. NaN counts
// as larger than anything.
#include "ir/ops/arg.h"

const dp_op dp_op_ArgMax = {
    .name = "ArgMax",
    .domain = "",
    DP_ARG_SCHEMA,
};
