// See schedule.h.
#include "ir/plan/schedule.h"

#include <stddef.h>
#include <string.h>

#define FIELD(NAME) \
  { #NAME, offsetof(Dp__Schedule, NAME) }

const dp_schedule_field dp_schedule_numbers[] = {FIELD(lr),        FIELD(min_lr),       FIELD(gamma),
                                                 FIELD(power),     FIELD(start_factor), FIELD(end_factor),
                                                 FIELD(pct_start), FIELD(div_factor),   FIELD(final_div_factor)};

const dp_schedule_field dp_schedule_counts[] = {FIELD(warmup), FIELD(total),         FIELD(step_size),
                                                FIELD(period), FIELD(period_factor), FIELD(decay)};

const char *const dp_schedule_kinds[] = {"constant",      "step",   "cosine",    "multistep",
                                         "exponential",   "linear", "one_cycle", "polynomial",
                                         "warm_restarts", "wsd",    NULL};

double dp_schedule_number(const Dp__Schedule *schedule, int field) {
  double number;
  memcpy(&number, (const char *)schedule + dp_schedule_numbers[field].offset, sizeof number);
  return number;
}

uint64_t dp_schedule_count(const Dp__Schedule *schedule, int field) {
  uint64_t count;
  memcpy(&count, (const char *)schedule + dp_schedule_counts[field].offset, sizeof count);
  return count;
}
