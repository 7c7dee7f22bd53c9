// --best and --early-stop: after each evaluation, whether it is the best so far, and whether training goes on.
//
// Checkpoints hold the state of this. One of the step that was evaluated may be from before the evaluation or after it,
// and going on from either repeats the evaluation; so the state says which evaluation was judged last, and none counts
// twice.
#include <math.h>
#include <stdio.h>

#include "tools/run/dprun.h"
#include "tools/run/line.h"

// "accuracy, loss": what the evaluation gives.
static const char *names_given(const dp_dprun *run) {
  const char *names = "";
  for (int m = 0; m < DP_MEASURES; m++)
    if (run->eval_tally.gives[m])
      names = dp_printf(run->arena, "%s%s%s", names, *names ? ", " : "", dp_measure_name((dp_measure)m));
  return names;
}

dp_status dp_dprun_watch_open(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  const char *option = o->watch.best ? "best" : "early-stop";
  run->best = (dp_checkpoint_best){.value = NAN, .step = -1, .judged = -1};
  if (!o->watch.best && !o->watch.early_stop) return DP_OK;
  if (!run->eval.loader) return dp_fail(EX_USAGE, "--%s is about evaluations: add --eval-data NAME=FILE", option);
  if (!run->train.loader) return dp_fail(EX_USAGE, "--%s is for training: add --data NAME=FILE", option);
  const char *name = o->watch.best ? o->watch.best : dp_measure_name(DP_MEASURE_LOSS);
  const dp_measure measure = dp_measure_find(name);
  if (measure == DP_MEASURES || !run->eval_tally.gives[measure])
    return dp_fail(EX_USAGE, "--best=%s: the plan's evaluations give no such metric, but %s", name, names_given(run));
  run->best.metric = dp_measure_name(measure);
  return DP_OK;
}

static bool waited_enough(const dp_dprun *run) {
  return run->options->watch.early_stop && run->best.waited >= run->options->watch.early_stop;
}

void dp_dprun_watch_print(const dp_dprun *run) {
  const dp_checkpoint_best *b = &run->best;
  char text[32];
  if (!b->metric) return;
  if (run->stopped)
    dp_line_print(stderr, "stopped after step %lld: %lld evaluations were not better than the best",
                  (long long)run->steps, (long long)b->waited);
  if (b->step >= 0)
    dp_line_print(stderr, "best %s: %s after step %lld", b->metric,
                  dp_measure_print(dp_measure_find(b->metric), b->value, text), (long long)b->step);
}

dp_status dp_dprun_watch_judge(dp_dprun *run) {
  dp_checkpoint_best *b = &run->best;
  if (!b->metric) return DP_OK;
  const dp_measure measure = dp_measure_find(b->metric);
  const double value = dp_tally_value(&run->eval_tally, measure);
  if (b->judged != run->steps) {
    const bool better = dp_measure_is_better(measure, value, b->value);
    b->waited = better ? 0 : b->waited + 1;
    if (better) b->value = value;
    if (better) b->step = run->steps;
    b->judged = run->steps;
  }
  run->stopped = waited_enough(run);
  return run->options->watch.best && b->step == run->steps ? dp_dprun_train_save(run) : DP_OK;
}
