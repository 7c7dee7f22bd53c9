// The fields of a plan's schedule, which the form, the checker and --against go through.
#ifndef DP_IR_PLAN_SCHEDULE_H
#define DP_IR_PLAN_SCHEDULE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_SCHEDULE_NUMBERS = 9, DP_SCHEDULE_COUNTS = 6 };

typedef struct {
  const char *name;
  size_t offset;
} dp_schedule_field;

extern const dp_schedule_field dp_schedule_numbers[DP_SCHEDULE_NUMBERS];  // double
extern const dp_schedule_field dp_schedule_counts[DP_SCHEDULE_COUNTS];    // uint64_t: steps, but for a factor

double dp_schedule_number(const Dp__Schedule *schedule, int field);
uint64_t dp_schedule_count(const Dp__Schedule *schedule, int field);

// "constant", "step" and so on; NULL ends them.
extern const char *const dp_schedule_kinds[];

#ifdef __cplusplus
}
#endif
#endif
