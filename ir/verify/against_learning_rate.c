// See against_learning_rate.h.
#include "ir/verify/against_learning_rate.h"

#include <string.h>

#include "ir/plan/schedule.h"

static dp_status check_numbers(const Dp__Schedule *a, const Dp__Schedule *b) {
  for (int i = 0; i < DP_SCHEDULE_NUMBERS; i++) {
    const double x = dp_schedule_number(a, i), y = dp_schedule_number(b, i);
    if (x != y)
      return dp_fail(EX_DATAERR, "the plan's schedule has %s %.17g, the optimizer %.17g", dp_schedule_numbers[i].name,
                     x, y);
  }
  return DP_OK;
}

static dp_status check_counts(const Dp__Schedule *a, const Dp__Schedule *b) {
  for (int i = 0; i < DP_SCHEDULE_COUNTS; i++) {
    const uint64_t x = dp_schedule_count(a, i), y = dp_schedule_count(b, i);
    if (x != y)
      return dp_fail(EX_DATAERR, "the plan's schedule has %s %llu, the optimizer %llu", dp_schedule_counts[i].name,
                     (unsigned long long)x, (unsigned long long)y);
  }
  return DP_OK;
}

static dp_status check_milestones(const Dp__Schedule *a, const Dp__Schedule *b) {
  if (a->n_milestones != b->n_milestones)
    return dp_fail(EX_DATAERR, "the plan's schedule has %zu milestones, the optimizer %zu", a->n_milestones,
                   b->n_milestones);
  for (size_t i = 0; i < a->n_milestones; i++)
    if (a->milestones[i] != b->milestones[i])
      return dp_fail(EX_DATAERR, "the plan's schedule has milestone %llu, the optimizer %llu",
                     (unsigned long long)a->milestones[i], (unsigned long long)b->milestones[i]);
  return DP_OK;
}

dp_status dp_against_learning_rate_check(const Dp__Schedule *plan, const Dp__Schedule *model) {
  static const Dp__Schedule none = DP__SCHEDULE__INIT;
  const Dp__Schedule *a = plan ? plan : &none, *b = model ? model : &none;
  if (strcmp(a->kind, b->kind))
    return dp_fail(EX_DATAERR, "the plan's schedule is '%s', the optimizer's '%s'", a->kind, b->kind);
  DP_TRY(check_numbers(a, b));
  DP_TRY(check_counts(a, b));
  return check_milestones(a, b);
}
