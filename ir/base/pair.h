// NAME=REST, as options take it.
#ifndef DP_IR_BASE_PAIR_H
#define DP_IR_BASE_PAIR_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Splits the text at its first '='; a name in double quotes may contain that sign. False: no '=', or nothing before or
// after it. *name is in the arena, *rest within the text.
bool dp_pair_split(dp_arena *arena, const char *text, const char **name, const char **rest) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
