// The formulas of the schedules, a function for each kind. See learning_rate.h.
#include "runtime/learning_rate.h"

#include <math.h>
#include <string.h>

// The steps that a schedule with an end has, the warm-up not counted.
static uint64_t span_of(const Dp__Schedule *s) { return s->total > s->warmup ? s->total - s->warmup : 0; }

// The part of the span that is over.
static double progress(const Dp__Schedule *s, uint64_t t) {
  const uint64_t span = span_of(s);
  return t < span ? (double)t / (double)span : 1;
}

// From `from` to `to` by half a cosine's wave.
static double anneal(double from, double to, double part) {
  const double pi = 3.14159265358979323846;
  return to + (from - to) * (1 + cos(pi * part)) / 2;
}

static double constant(const Dp__Schedule *s, uint64_t t) {
  (void)t;
  return s->lr;
}

static double step_down(const Dp__Schedule *s, uint64_t t) {
  double lr = s->step_size ? s->lr * pow(s->gamma, (double)(t / s->step_size)) : s->lr;
  return lr > s->min_lr ? lr : s->min_lr;
}

static double cosine(const Dp__Schedule *s, uint64_t t) {
  return t < span_of(s) ? anneal(s->lr, s->min_lr, progress(s, t)) : s->min_lr;
}

static double multistep(const Dp__Schedule *s, uint64_t t) {
  size_t passed = 0;
  for (size_t i = 0; i < s->n_milestones; i++) passed += s->milestones[i] <= t;
  return s->lr * pow(s->gamma, (double)passed);
}

static double exponential(const Dp__Schedule *s, uint64_t t) { return s->lr * pow(s->gamma, (double)t); }

static double linear(const Dp__Schedule *s, uint64_t t) {
  return s->lr * (s->start_factor + (s->end_factor - s->start_factor) * progress(s, t));
}

static double polynomial(const Dp__Schedule *s, uint64_t t) { return s->lr * pow(1 - progress(s, t), s->power); }

// The rate is highest at step pct_start * span - 1, counted from 0, and lowest at the last one.
static double one_cycle(const Dp__Schedule *s, uint64_t t) {
  const double last = (double)span_of(s) - 1, highest = s->pct_start * (double)span_of(s) - 1;
  const double first = s->lr / s->div_factor, least = first / s->final_div_factor;
  if ((double)t >= last) return least;
  if ((double)t < highest) return anneal(first, s->lr, (double)t / highest);
  return anneal(s->lr, least, ((double)t - highest) / (last - highest));
}

static double warm_restarts(const Dp__Schedule *s, uint64_t t) {
  uint64_t period = s->period, at = t;
  if (!period) return s->lr;
  if (s->period_factor <= 1) at %= period;
  while (at >= period) {
    at -= period;
    period = period > UINT64_MAX / s->period_factor ? UINT64_MAX : period * s->period_factor;
  }
  return anneal(s->lr, s->min_lr, (double)at / (double)period);
}

static double stable_decay(const Dp__Schedule *s, uint64_t t) {
  const uint64_t span = span_of(s), stable = span > s->decay ? span - s->decay : 0;
  if (t >= span) return s->min_lr;
  return t < stable ? s->lr : s->lr + (s->min_lr - s->lr) * (double)(t - stable) / (double)(span - stable);
}

static const struct {
  const char *kind;
  double (*lr)(const Dp__Schedule *s, uint64_t t);
} kinds[] = {{"constant", constant},    {"step", step_down},          {"cosine", cosine},
             {"multistep", multistep},  {"exponential", exponential}, {"linear", linear},
             {"wsd", stable_decay},     {"one_cycle", one_cycle},     {"warm_restarts", warm_restarts},
             {"polynomial", polynomial}};

double dp_learning_rate(const Dp__Schedule *schedule, int64_t step) {
  uint64_t at = step > 0 ? (uint64_t)step : 0;
  if (!schedule) return 0;
  if (at < schedule->warmup) return schedule->lr * ((double)at + 1) / (double)schedule->warmup;
  for (size_t k = 0; k < DP_COUNT(kinds); k++)
    if (!strcmp(kinds[k].kind, schedule->kind)) return kinds[k].lr(schedule, at - schedule->warmup);
  return 0;
}
