// The strategies, by name. Each is a const struct dp_strategy_NAME in NAME.c and a line of list.h.
#ifndef DP_PASSES_STRATEGY_TABLE_H
#define DP_PASSES_STRATEGY_TABLE_H

#include "passes/base/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_STRATEGY(name) extern const dp_strategy dp_strategy_##name;
#include "passes/strategy/list.h"
#undef DP_STRATEGY

extern const dp_strategy *const dp_strategies[];  // in the order of the list; ends with NULL

// The requested strategy: by name, else by the axes of --mesh. EX_USAGE, EX_UNAVAILABLE.
dp_status dp_strategy_choose(const dp_options *options, const dp_strategy **strategy) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
