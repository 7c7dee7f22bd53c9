// See against_learning_rate.h.
#include "ir/verify/against_learning_rate.h"

#include <stddef.h>
#include <string.h>

static dp_status check_doubles(const Dp__Schedule *a, const Dp__Schedule *b) {
  static const struct {
    const char *name;
    size_t offset;
  } fields[] = {
      {"lr", offsetof(Dp__Schedule, lr)},
      {"min_lr", offsetof(Dp__Schedule, min_lr)},
      {"gamma", offsetof(Dp__Schedule, gamma)},
  };
  for (size_t i = 0; i < DP_COUNT(fields); i++) {
    double x, y;
    memcpy(&x, (const char *)a + fields[i].offset, sizeof x);
    memcpy(&y, (const char *)b + fields[i].offset, sizeof y);
    if (x != y)
      return dp_fail(EX_DATAERR, "the plan's schedule has %s %.17g, the optimizer %.17g", fields[i].name, x, y);
  }
  return DP_OK;
}

static dp_status check_counts(const Dp__Schedule *a, const Dp__Schedule *b) {
  static const struct {
    const char *name;
    size_t offset;
  } fields[] = {
      {"warmup", offsetof(Dp__Schedule, warmup)},
      {"total", offsetof(Dp__Schedule, total)},
      {"step_size", offsetof(Dp__Schedule, step_size)},
  };
  for (size_t i = 0; i < DP_COUNT(fields); i++) {
    uint64_t x, y;
    memcpy(&x, (const char *)a + fields[i].offset, sizeof x);
    memcpy(&y, (const char *)b + fields[i].offset, sizeof y);
    if (x != y)
      return dp_fail(EX_DATAERR, "the plan's schedule has %s %llu, the optimizer %llu", fields[i].name,
                     (unsigned long long)x, (unsigned long long)y);
  }
  return DP_OK;
}

dp_status dp_against_learning_rate_check(const Dp__Schedule *plan, const Dp__Schedule *model) {
  static const Dp__Schedule none = DP__SCHEDULE__INIT;
  const Dp__Schedule *a = plan ? plan : &none, *b = model ? model : &none;
  if (strcmp(a->kind, b->kind))
    return dp_fail(EX_DATAERR, "the plan's schedule is '%s', the optimizer's '%s'", a->kind, b->kind);
  DP_TRY(check_doubles(a, b));
  return check_counts(a, b);
}
