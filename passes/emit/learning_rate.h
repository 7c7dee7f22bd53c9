// The learning-rate schedule as a plan holds it.
#ifndef DP_PASSES_EMIT_LEARNING_RATE_H
#define DP_PASSES_EMIT_LEARNING_RATE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// From an optimizer's SPEC, whose text the result may share. NULL: no training; the schedule then has no kind.
dp_status dp_emit_learning_rate(dp_arena *arena, const char *optimizer, Dp__Schedule **schedule) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
