// Less, with broadcasting: bool. As in IEEE 754, every comparison with NaN is false.
#include "ir/ops/piecewise.h"

const dp_op dp_op_Less = {
    .name = "Less",
    .domain = "",
    DP_COMPARISON_SCHEMA,
};
