// The schedule of the learning rate as a plan holds it.
#ifndef DP_PASSES_EMIT_LEARNING_RATE_H
#define DP_PASSES_EMIT_LEARNING_RATE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of an optimizer's SPEC, whose text it may share; NULL: no training, and a schedule of no kind.
dp_status dp_emit_schedule(dp_arena *arena, const char *optimizer, Dp__Schedule **schedule) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
