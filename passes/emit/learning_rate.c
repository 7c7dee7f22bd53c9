// See learning_rate.h.
#include "passes/emit/learning_rate.h"

#include "passes/spec/spec.h"

dp_status dp_emit_learning_rate(dp_arena *arena, const char *optimizer, Dp__Schedule **schedule) {
  Dp__Schedule *s = dp_alloc(arena, sizeof *s);
  *s = (Dp__Schedule)DP__SCHEDULE__INIT;
  *schedule = s;
  if (!optimizer) return DP_OK;
  dp_optimizer_spec spec;
  DP_TRY(dp_spec_optimizer(arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, optimizer, &spec));
  s->kind = (char *)(uintptr_t)spec.lr_schedule.kind;
  s->lr = spec.lr;
  s->warmup = spec.lr_schedule.warmup;
  s->total = spec.lr_schedule.total;
  s->min_lr = spec.lr_schedule.min_lr;
  s->step_size = spec.lr_schedule.step_size;
  s->gamma = spec.lr_schedule.gamma;
  s->n_milestones = (size_t)spec.lr_schedule.milestones.count;
  s->milestones = spec.lr_schedule.milestones.steps;
  s->period = spec.lr_schedule.period;
  s->period_factor = spec.lr_schedule.period_factor;
  s->decay = spec.lr_schedule.decay;
  s->power = spec.lr_schedule.power;
  s->start_factor = spec.lr_schedule.start_factor;
  s->end_factor = spec.lr_schedule.end_factor;
  s->pct_start = spec.lr_schedule.rising;
  s->div_factor = spec.lr_schedule.div_factor;
  s->final_div_factor = spec.lr_schedule.final_div_factor;
  return DP_OK;
}
