// Training and evaluation: takes batches from the feed, runs steps in the session, reports to metrics and progress.
// Epochs and evaluations share the session's input memory, so the prefetching thread of one ends before the other
// starts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/learning_rate.h"
#include "tools/run/dprun.h"

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
  double loss;     // sum over labels
  int64_t labels;  // present labels, counted by the programs
  int64_t samples;
  double begun_s;
} tally;

// Adds the results of a program for n samples. A mean over no labels is undefined and does not count.
static void tally_add(tally *t, const dp_dprun *run, int program, int64_t n) {
  const int64_t labels = (int64_t)dp_session_number(run->session, program, "count");
  if (labels) t->loss += dp_session_number(run->session, program, "loss") * (double)labels;
  t->labels += labels;
  t->samples += n;
}

static double tally_mean(const tally *t) { return t->loss / (double)t->labels; }

dp_status dp_dprun_train_save(dp_dprun *run) {
  const int64_t a_round = run->train.steps;
  dp_metrics_flush(&run->metrics);
  return dp_dprun_checkpoints_save(&run->checkpoints, run->steps, run->position / a_round + 1, run->position % a_round);
}

static dp_status train_steps(dp_dprun *run, int64_t epoch, int64_t end, dp_progress *progress, tally *t) {
  int slot;
  int64_t n;
  while (!dp_dprun_signal_came() && dp_prefetch_next(run->train.prefetch, &slot, &n)) {
    double before = dp_progress_now();
    const dp_step step = {run->steps, n, dp_learning_rate(run->plan->schedule, run->steps)};
    dp_status status = dp_session_run(run->session, run->train.program, slot, &step);
    if (status) return dp_status_context(status, "step %lld", (long long)run->steps + 1);
    dp_prefetch_release(run->train.prefetch);
    run->steps++;
    run->position++;
    double now = dp_progress_now(), loss = dp_session_number(run->session, run->train.program, "loss");
    dp_metrics_step(&run->metrics, run->steps, epoch, loss, step.lr, n, (now - before) * 1e3);
    tally_add(t, run, run->train.program, n);
    DP_TRY(check_loss(run, progress, loss));
    dp_progress_draw(progress, epoch, progress->steps - (end - run->position), loss,
                     (double)t->samples / (now - t->begun_s));
    const int64_t every = run->options->save_every;
    if (every && run->steps % every == 0) DP_TRY(dp_dprun_train_save(run));
    if (dp_dprun_checkpoints_failed(&run->checkpoints)) return dp_dprun_checkpoints_finish(&run->checkpoints);
  }
  return DP_OK;
}

static dp_status evaluate(dp_dprun *run, int64_t epoch) {
  int program = run->eval.program;
  bool classes = run->plan->classes;
  double correct = 0;
  int64_t position = 0, n;
  tally t = {0};
  int slot;
  DP_TRY(dp_dprun_feed_begin(&run->eval, 0, run->eval.steps));
  dp_status status = DP_OK;
  while (!status && !dp_dprun_signal_came() && dp_prefetch_next(run->eval.prefetch, &slot, &n)) {
    const dp_step step = {position++, n, 0};
    status = dp_session_run(run->session, program, slot, &step);
    dp_prefetch_release(run->eval.prefetch);
    if (status) break;
    tally_add(&t, run, program, n);
    if (classes) correct += dp_session_number(run->session, program, "correct");
  }
  dp_dprun_feed_end(&run->eval);
  if (status) return dp_status_context(status, "evaluation, batch %lld", (long long)position);
  if (position < run->eval.steps) return DP_OK;  // a signal came
  run->loss = tally_mean(&t);
  run->first_step = 0;
  run->accuracy = classes ? correct / (double)t.labels : -1;
  run->measured = true;
  dp_metrics_eval(&run->metrics, run->steps, epoch, run->loss, run->accuracy, run->eval.samples);
  return DP_OK;
}

static void print_epoch(const dp_dprun *run, int64_t epoch, int64_t epochs, const tally *t, double seconds) {
  if (run->options->quiet) return;
  fprintf(stderr, "epoch %lld/%lld  loss %.4f  %.0f samples/s", (long long)epoch, (long long)epochs, tally_mean(t),
          (double)t->samples / seconds);
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
  tally t = {.begun_s = dp_progress_now()};
  DP_TRY(dp_dprun_feed_begin(&run->train, run->position, end));
  dp_status status = train_steps(run, epoch, end, &progress, &t);
  dp_dprun_feed_end(&run->train);
  double seconds = dp_progress_now() - t.begun_s;
  dp_progress_clear(&progress);
  DP_TRY(status);
  if (dp_dprun_signal_came()) return DP_OK;
  run->loss = tally_mean(&t);
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
  if (evaluates_first(run, end)) DP_TRY(evaluate(run, a_round ? divide_up(run->position, a_round) : 0));
  while (run->position < end && !dp_dprun_signal_came()) {
    int64_t epoch = run->position / a_round + 1;
    DP_TRY(run_epoch(run, epoch, dp_min_i64(end, epoch * a_round), epochs));
  }
  return DP_OK;
}
