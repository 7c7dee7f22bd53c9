// The formulas of the schedules, a function for each kind. See learning_rate.h.
#include "runtime/learning_rate.h"

#include <math.h>
#include <string.h>

static double constant(const Dp__Schedule *s, uint64_t t) {
  (void)t;
  return s->lr;
}

static double step_down(const Dp__Schedule *s, uint64_t t) {
  double lr = s->step_size ? s->lr * pow(s->gamma, (double)(t / s->step_size)) : s->lr;
  return lr > s->min_lr ? lr : s->min_lr;
}

static double cosine(const Dp__Schedule *s, uint64_t t) {
  const double pi = 3.14159265358979323846;
  uint64_t span = s->total > s->warmup ? s->total - s->warmup : 0;
  if (t >= span) return s->min_lr;
  return s->min_lr + (s->lr - s->min_lr) * (1 + cos(pi * (double)t / (double)span)) / 2;
}

static const struct {
  const char *kind;
  double (*lr)(const Dp__Schedule *s, uint64_t t);
} kinds[] = {{"constant", constant}, {"step", step_down}, {"cosine", cosine}};

double dp_learning_rate(const Dp__Schedule *schedule, int64_t step) {
  uint64_t at = step > 0 ? (uint64_t)step : 0;
  if (!schedule) return 0;
  if (at < schedule->warmup) return schedule->lr * ((double)at + 1) / (double)schedule->warmup;
  for (size_t k = 0; k < DP_COUNT(kinds); k++)
    if (!strcmp(kinds[k].kind, schedule->kind)) return kinds[k].lr(schedule, at - schedule->warmup);
  return 0;
}
