// See schedule_spec.h.
#include "ir/plan/schedule_spec.h"

void dp_schedule_set(Dp__Schedule *schedule, const dp_learning_rate_spec *spec) {
  schedule->kind = (char *)(uintptr_t)spec->kind;
  schedule->warmup = spec->warmup;
  schedule->total = spec->total;
  schedule->min_lr = spec->min_lr;
  schedule->step_size = spec->step_size;
  schedule->gamma = spec->gamma;
  schedule->n_milestones = (size_t)spec->milestones.count;
  schedule->milestones = spec->milestones.steps;
  schedule->period = spec->period;
  schedule->period_factor = spec->period_factor;
  schedule->decay = spec->decay;
  schedule->power = spec->power;
  schedule->start_factor = spec->start_factor;
  schedule->end_factor = spec->end_factor;
  schedule->pct_start = spec->rising;
  schedule->div_factor = spec->div_factor;
  schedule->final_div_factor = spec->final_div_factor;
}
