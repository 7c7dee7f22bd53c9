// auto: chooses the strategy by cost.
#include "passes/strategy/table.h"

const dp_strategy dp_strategy_auto = {
    .name = "auto",
    .what = "whichever takes the least time",
    .planned = true,
};
