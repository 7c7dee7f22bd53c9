// See learning_rate.h.
#include "passes/emit/learning_rate.h"

#include "ir/plan/schedule_spec.h"
#include "ir/spec/spec.h"

dp_status dp_emit_learning_rate(dp_arena *arena, const char *optimizer, Dp__Schedule **schedule) {
  Dp__Schedule *s = dp_alloc(arena, sizeof *s);
  *s = (Dp__Schedule)DP__SCHEDULE__INIT;
  *schedule = s;
  if (!optimizer) return DP_OK;
  dp_optimizer_spec spec;
  DP_TRY(dp_spec_optimizer(arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, optimizer, &spec));
  s->lr = spec.lr;
  dp_schedule_set(s, &spec.lr_schedule);
  return DP_OK;
}
