// See steps.h.
#include "tools/run/steps.h"

#include "runtime/learning_rate.h"
#include "tools/run/dprun.h"

enum { MOST = 2 };  // runs at a time

typedef struct {
  dp_step step;
  double begun_s;
} going_step;

typedef struct {
  const dp_dprun_steps *steps;
  int count;
  going_step on[MOST];  // the older first
  double over_s;        // when the last one was over
} going;

static dp_status end_one(going *g) {
  const dp_dprun_steps *s = g->steps;
  const going_step one = g->on[0];
  g->on[0] = g->on[1];
  g->count--;
  dp_status status = dp_session_end(s->session);
  if (status) return dp_status_context(status, "%s %lld", s->what, (long long)one.step.step + 1);
  const double now = dp_progress_now(), since = one.begun_s > g->over_s ? one.begun_s : g->over_s;
  g->over_s = now;
  return s->done(s->context, &one.step, (now - since) * 1e3);
}

static dp_status end_all(going *g) {
  while (g->count) DP_TRY(end_one(g));
  return DP_OK;
}

static dp_status begin_one(going *g, int64_t number, int slot, int64_t n) {
  const dp_dprun_steps *s = g->steps;
  const double lr = s->schedule ? dp_learning_rate(s->schedule, number) : 0;
  g->on[g->count] = (going_step){{number, n, lr}, dp_progress_now()};
  DP_TRY(dp_session_begin(s->session, s->feed->program, slot, &g->on[g->count].step));
  g->count++;
  return DP_OK;
}

static dp_status run(going *g) {
  const dp_dprun_steps *s = g->steps;
  const int depth = dp_session_depth(s->session);
  int64_t number = s->first, n;
  int slot;
  while (!dp_dprun_signal_came() && dp_prefetch_next(s->feed->prefetch, &slot, &n)) {
    DP_TRY(begin_one(g, number++, slot, n));
    if (g->count == depth) DP_TRY(end_one(g));
    DP_TRY(dp_session_taken(s->session));
    dp_prefetch_release(s->feed->prefetch);
    if (!s->pauses || !s->pauses(s->context, number)) continue;
    DP_TRY(end_all(g));
    DP_TRY(s->pause(s->context));
  }
  DP_TRY(end_all(g));
  return dp_status_context(dp_prefetch_failure(s->feed->prefetch), "%s %lld", s->what, (long long)number + 1);
}

dp_status dp_dprun_steps_run(const dp_dprun_steps *steps) {
  going g = {.steps = steps};
  dp_status status = run(&g);
  // After a failure, what still goes on ends without a word.
  for (; status && g.count; g.count--) dp_status_free(dp_session_end(steps->session));
  return status;
}
