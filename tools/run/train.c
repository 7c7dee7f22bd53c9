// Training and evaluation: has steps run on batches of the feed (steps.h), reports to metrics and progress.
// Epochs and evaluations share the session's input memory, so the prefetching thread of one ends before the other
// starts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/run/dprun.h"
#include "tools/run/steps.h"

// A loss that is not finite ends training only if that was asked for.
static dp_status check_loss(dp_dprun *run, dp_progress *progress, double loss) {
  if (isfinite(loss) || run->reported_not_finite) return DP_OK;
  run->reported_not_finite = true;
  dp_progress_clear(progress);
  if (run->options->stop_on_nan)
    return dp_fail(EX_DATAERR, "the loss of step %lld is not finite: %g", (long long)run->steps, loss);
  fprintf(stderr, "dprun: the loss of step %lld is not finite: %g (reported once; --stop-on-nan stops training here)\n",
          (long long)run->steps, loss);
  return DP_OK;
}

// Sums over several batches.
typedef struct {
  dp_loss_mean *loss;
  int64_t labels;  // present labels, counted by the programs
  int64_t samples;
  double begun_s;
} tally;

static tally tally_begin(dp_loss_mean *loss) {
  dp_loss_mean_reset(loss);
  return (tally){.loss = loss, .begun_s = dp_progress_now()};
}

// Adds the results of a program for n samples.
static void tally_add(tally *t, const dp_dprun *run, int program, int64_t n) {
  dp_loss_mean_add(t->loss);
  t->labels += (int64_t)dp_session_number(run->session, program, "count");
  t->samples += n;
}

dp_status dp_dprun_train_save(dp_dprun *run) {
  const int64_t a_round = run->train.steps;
  dp_metrics_flush(&run->metrics);
  return dp_dprun_checkpoints_save(&run->checkpoints, run->steps, run->position / a_round + 1, run->position % a_round);
}

typedef struct {
  dp_dprun *run;
  int64_t epoch, end;
  dp_progress *progress;
  tally *tally;
} training;

static dp_status end_step(void *context, const dp_step *step, double ms) {
  const training *t = context;
  dp_dprun *run = t->run;
  const double loss = dp_session_number(run->session, run->train.program, "loss");
  run->steps++;
  run->position++;
  dp_metrics_step(&run->metrics, run->steps, t->epoch, loss, step->lr, step->n, ms);
  tally_add(t->tally, run, run->train.program, step->n);
  DP_TRY(check_loss(run, t->progress, loss));
  dp_progress_draw(t->progress, t->epoch, t->progress->steps - (t->end - run->position), loss,
                   (double)t->tally->samples / (dp_progress_now() - t->tally->begun_s));
  return dp_dprun_checkpoints_failed(&run->checkpoints) ? dp_dprun_checkpoints_finish(&run->checkpoints) : DP_OK;
}

static bool saves(const void *context, int64_t steps) {
  const int64_t every = ((const training *)context)->run->options->save_every;
  return every && steps % every == 0;
}

static dp_status save(void *context) { return dp_dprun_train_save(((const training *)context)->run); }

static dp_status train_steps(training *t) {
  const dp_dprun *run = t->run;
  const dp_dprun_steps steps = {
      .session = run->session,
      .feed = &run->train,
      .schedule = run->plan->schedule,
      .first = run->steps,
      .what = "step",
      .done = end_step,
      .pauses = saves,
      .pause = save,
      .context = t,
  };
  return dp_dprun_steps_run(&steps);
}

typedef struct {
  const dp_dprun *run;
  int64_t batches;
  double correct;
  tally tally;
} evaluation;

static dp_status end_batch(void *context, const dp_step *step, double ms) {
  evaluation *e = context;
  const dp_dprun *run = e->run;
  (void)ms;
  e->batches++;
  tally_add(&e->tally, run, run->eval.program, step->n);
  if (run->plan->classes) e->correct += dp_session_number(run->session, run->eval.program, "correct");
  return DP_OK;
}

static dp_status evaluate(dp_dprun *run, int64_t epoch) {
  evaluation e = {.run = run, .tally = tally_begin(&run->eval_loss)};
  const dp_dprun_steps steps = {
      .session = run->session, .feed = &run->eval, .what = "evaluation, batch", .done = end_batch, .context = &e};
  DP_TRY(dp_dprun_feed_begin(&run->eval, 0, run->eval.steps));
  dp_status status = dp_dprun_steps_run(&steps);
  dp_dprun_feed_end(&run->eval);
  DP_TRY(status);
  if (e.batches < run->eval.steps) return DP_OK;  // a signal came
  run->loss = dp_loss_mean_value(e.tally.loss);
  run->first_step = 0;
  run->accuracy = run->plan->classes ? e.correct / (double)e.tally.labels : -1;
  run->measured = true;
  dp_metrics_eval(&run->metrics, run->steps, epoch, run->loss, run->accuracy, run->eval.samples);
  return DP_OK;
}

static void print_epoch(const dp_dprun *run, int64_t epoch, int64_t epochs, const tally *t, double seconds) {
  if (run->options->quiet) return;
  fprintf(stderr, "epoch %lld/%lld  loss %.4f  %.0f samples/s", (long long)epoch, (long long)epochs,
          dp_loss_mean_value(t->loss), (double)t->samples / seconds);
  if (run->eval.loader) {
    fprintf(stderr, "  eval loss %.4f", run->loss);
    if (run->accuracy >= 0) fprintf(stderr, "  accuracy %.1f %%", 100 * run->accuracy);
  }
  fputc('\n', stderr);
}

// Runs the steps from run->position to `end`, all in one epoch (counted from 1), and the evaluation.
static dp_status run_epoch(dp_dprun *run, int64_t epoch, int64_t end, int64_t epochs) {
  dp_progress progress = dp_progress_begin(run->options->quiet, run->train.steps);
  progress.steps = dp_min_i64(run->train.steps, end - run->position);
  const int64_t first = run->steps + 1;
  tally t = tally_begin(&run->train_loss);
  DP_TRY(dp_dprun_feed_begin(&run->train, run->position, end));
  training training = {run, epoch, end, &progress, &t};
  dp_status status = train_steps(&training);
  dp_dprun_feed_end(&run->train);
  double seconds = dp_progress_now() - t.begun_s;
  dp_progress_clear(&progress);
  DP_TRY(status);
  if (dp_dprun_signal_came()) return DP_OK;
  run->loss = dp_loss_mean_value(t.loss);
  run->first_step = first;
  run->measured = true;
  if (run->eval.loader) DP_TRY(evaluate(run, epoch));
  if (!dp_dprun_signal_came()) print_epoch(run, epoch, epochs, &t, seconds);
  return DP_OK;
}

// *end: the position at which training ends.
static dp_status find_end(const dp_dprun *run, int64_t *end) {
  const dp_dprun_options *o = run->options;
  *end = 0;
  if (!run->train.loader) return DP_OK;
  if (!run->train.steps)
    return dp_fail(EX_CONFIG, "--drop-last leaves no batch: there are %lld samples and a batch has %lld",
                   (long long)run->train.samples, (long long)run->plan->batch);
  int64_t epochs = o->epochs >= 0 ? o->epochs : 1;
  if (o->steps >= 0)
    *end = run->position + o->steps - run->steps;
  else if (__builtin_mul_overflow(epochs, run->train.steps, end))
    return dp_fail(EX_USAGE, "--epochs=%lld is too large", (long long)epochs);
  return DP_OK;
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether to evaluate before the first step: because nothing is left to train, or because the run was ended between an
// epoch and its evaluation, or may have been.
static bool evaluates_first(const dp_dprun *run, int64_t end) {
  if (!run->eval.loader) return false;
  return run->position >= end || (run->resumed && run->position % run->train.steps == 0);
}

dp_status dp_dprun_train_run(dp_dprun *run) {
  int64_t end, a_round = run->train.steps;
  DP_TRY(find_end(run, &end));
  int64_t epochs = a_round ? divide_up(end, a_round) : 0;
  run->accuracy = -1;
  run->train_loss = dp_loss_mean_open(run->arena, run->session, run->train.program);
  run->eval_loss = dp_loss_mean_open(run->arena, run->session, run->eval.program);
  if (evaluates_first(run, end)) DP_TRY(evaluate(run, a_round ? divide_up(run->position, a_round) : 0));
  while (run->position < end && !dp_dprun_signal_came()) {
    int64_t epoch = run->position / a_round + 1;
    DP_TRY(run_epoch(run, epoch, dp_min_i64(end, epoch * a_round), epochs));
  }
  return DP_OK;
}
