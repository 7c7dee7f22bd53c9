// auto: the strategy that is found by cost.
#include "passes/strategy/table.h"

const dp_strategy dp_strategy_auto = {
    .name = "auto",
    .what = "whichever takes least time",
    .planned = true,
};
