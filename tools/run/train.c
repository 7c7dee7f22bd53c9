// Training and evaluation: has steps run on batches of the feed (steps.h), reports to metrics and progress.
// Epochs and evaluations share the session's input memory, so the prefetching thread of one ends before the other
// starts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/run/dprun.h"
#include "tools/run/line.h"
#include "tools/run/steps.h"

// A loss that is not finite ends training only if that was asked for.
static dp_status check_loss(dp_dprun *run, double loss) {
  if (isfinite(loss) || run->reported_not_finite) return DP_OK;
  run->reported_not_finite = true;
  dp_progress_clear(&run->progress);
  if (run->options->stop_on_nan)
    return dp_fail(EX_DATAERR, "the loss of step %lld is not finite: %g", (long long)run->steps, loss);
  dp_line_print(stderr,
                "dprun: the loss of step %lld is not finite: %g (reported once; --stop-on-nan stops training here)",
                (long long)run->steps, loss);
  return DP_OK;
}

dp_status dp_dprun_train_save(dp_dprun *run) {
  const int64_t a_round = run->train.steps;
  dp_metrics_flush(&run->metrics);
  return dp_dprun_checkpoints_save(&run->checkpoints, run->steps, run->position / a_round + 1, run->position % a_round,
                                   &run->best);
}

typedef struct {
  dp_dprun *run;
  int64_t epoch, epochs;
  int64_t first, end;  // positions, of the steps that are run
  int64_t whole_end;   // where training ends
  double begun_s;
} training;

// The step's line of --metrics.
static void report_step(dp_dprun *run, int64_t epoch, const dp_step *step, double loss, double ms) {
  dp_metrics_number numbers[DP_MEASURES + 1];
  dp_tally_reset(&run->step_tally);
  dp_tally_add(&run->step_tally, step->n);
  int n = dp_tally_numbers(&run->step_tally, numbers);
  if (dp_session_output(run->session, run->train.program, "skipped", NULL))
    numbers[n++] = (dp_metrics_number){"skipped", dp_session_number(run->session, run->train.program, "skipped")};
  const dp_metrics_measured measured = {
      .step = run->steps, .epoch = epoch, .samples = step->n, .loss = loss, .n_numbers = n, .numbers = numbers};
  dp_metrics_step(&run->metrics, &measured, step->lr, ms);
  dp_dprun_board_step(&run->board, &measured, step->lr, ms);
}

static void draw_progress(const training *t, double loss) {
  dp_dprun *run = t->run;
  const double seconds = dp_progress_now() - t->begun_s;
  const int64_t steps = dp_min_i64(run->train.steps, t->end - t->first);
  const dp_progress_point point = {
      .epoch = t->epoch,
      .epochs = t->epochs,
      .done = steps - (t->end - run->position),
      .steps = steps,
      .loss = loss,
      .samples_per_s = (double)run->train_tally.samples / seconds,
      .left_s = seconds / (double)(run->position - t->first) * (double)(t->whole_end - run->position),
  };
  dp_progress_draw(&run->progress, &point);
}

static dp_status end_step(void *context, const dp_step *step, double ms) {
  const training *t = context;
  dp_dprun *run = t->run;
  const double loss = dp_session_number(run->session, run->train.program, "loss");
  run->steps++;
  run->position++;
  run->skipped += dp_session_number(run->session, run->train.program, "skipped") != 0;
  report_step(run, t->epoch, step, loss, ms);
  dp_tally_add(&run->train_tally, step->n);
  DP_TRY(check_loss(run, loss));
  draw_progress(t, loss);
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
  dp_dprun *run;
  int64_t batches;
} evaluation;

static dp_status end_batch(void *context, const dp_step *step, double ms) {
  evaluation *e = context;
  (void)ms;
  e->batches++;
  dp_tally_add(&e->run->eval_tally, step->n);
  return DP_OK;
}

static void report_evaluation(dp_dprun *run, int64_t epoch) {
  const dp_tally *t = &run->eval_tally;
  dp_metrics_number numbers[DP_MEASURES];
  const int n = dp_tally_numbers(t, numbers);
  const dp_metrics_measured measured = {.step = run->steps,
                                        .epoch = epoch,
                                        .samples = run->eval.samples,
                                        .loss = run->loss,
                                        .n_numbers = n,
                                        .numbers = numbers,
                                        .classes = t->classes,
                                        .confusion = t->confusion};
  dp_metrics_eval(&run->metrics, &measured);
  dp_dprun_board_eval(&run->board, &measured);
}

static dp_status evaluate(dp_dprun *run, int64_t epoch) {
  evaluation e = {.run = run};
  const dp_dprun_steps steps = {
      .session = run->session, .feed = &run->eval, .what = "evaluation, batch", .done = end_batch, .context = &e};
  dp_tally_reset(&run->eval_tally);
  DP_TRY(dp_dprun_feed_begin(&run->eval, 0, run->eval.steps));
  dp_status status = dp_dprun_steps_run(&steps);
  dp_dprun_feed_end(&run->eval);
  DP_TRY(status);
  if (e.batches < run->eval.steps) return DP_OK;  // a signal came
  run->loss = dp_tally_value(&run->eval_tally, DP_MEASURE_LOSS);
  run->first_step = 0;
  run->accuracy = run->plan->classes ? dp_tally_value(&run->eval_tally, DP_MEASURE_ACCURACY) : -1;
  run->measured = true;
  report_evaluation(run, epoch);
  return dp_dprun_watch_judge(run);
}

enum { TALLY_BYTES = 256 };

// The loss and the other values of a tally, as far as a program gives them.
static const char *print_tally(const dp_tally *t, char text[TALLY_BYTES]) {
  char value[32];
  const char *remark = dp_tally_remark(t);
  int at = snprintf(text, TALLY_BYTES, "loss %.4f", dp_tally_value(t, DP_MEASURE_LOSS));
  if (remark) snprintf(text + at, TALLY_BYTES - (size_t)at, "  %s", remark);
  for (int m = DP_MEASURE_LOSS + 1; m < DP_MEASURES && !remark; m++)
    if (t->gives[m] && m != DP_MEASURE_PERPLEXITY && at < TALLY_BYTES)
      at += snprintf(text + at, TALLY_BYTES - (size_t)at, "  %s %s", dp_measure_name((dp_measure)m),
                     dp_measure_print((dp_measure)m, dp_tally_value(t, (dp_measure)m), value));
  return text;
}

static void print_epoch(const dp_dprun *run, int64_t epoch, int64_t epochs, double seconds) {
  char train[TALLY_BYTES], eval[TALLY_BYTES] = "", skipped[48] = "";
  if (run->options->quiet) return;
  if (run->skipped) snprintf(skipped, sizeof skipped, "  %lld steps skipped so far", (long long)run->skipped);
  if (run->eval.loader) print_tally(&run->eval_tally, eval);
  dp_line_print(stderr, "epoch %lld/%lld  %s  %.0f samples/s%s%s%s", (long long)epoch, (long long)epochs,
                print_tally(&run->train_tally, train), (double)run->train_tally.samples / seconds, skipped,
                *eval ? "  eval " : "", eval);
}

// Runs the steps from run->position to `end`, all in one epoch (counted from 1), and the evaluation.
static dp_status run_epoch(dp_dprun *run, int64_t epoch, int64_t end, int64_t epochs, int64_t whole_end) {
  const int64_t first = run->steps + 1;
  training training = {run, epoch, epochs, run->position, end, whole_end, dp_progress_now()};
  dp_tally_reset(&run->train_tally);
  DP_TRY(dp_dprun_feed_begin(&run->train, run->position, end));
  dp_status status = train_steps(&training);
  dp_dprun_feed_end(&run->train);
  double seconds = dp_progress_now() - training.begun_s;
  dp_progress_clear(&run->progress);
  DP_TRY(status);
  if (dp_dprun_signal_came()) return DP_OK;
  run->loss = dp_tally_value(&run->train_tally, DP_MEASURE_LOSS);
  run->first_step = first;
  run->measured = true;
  if (run->options->watch.histograms)
    DP_TRY(dp_dprun_board_histograms(&run->board, run->steps, run->session, run->train.program));
  if (run->eval.loader) DP_TRY(evaluate(run, epoch));
  if (!dp_dprun_signal_came()) print_epoch(run, epoch, epochs, seconds);
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
  return run->position >= end || (run->resumed && run->position > 0 && run->position % run->train.steps == 0);
}

dp_status dp_dprun_train_run(dp_dprun *run) {
  int64_t end, a_round = run->train.steps;
  DP_TRY(find_end(run, &end));
  int64_t epochs = a_round ? divide_up(end, a_round) : 0;
  run->accuracy = -1;
  if (evaluates_first(run, end)) DP_TRY(evaluate(run, a_round ? divide_up(run->position, a_round) : 0));
  while (run->position < end && !run->stopped && !dp_dprun_signal_came()) {
    int64_t epoch = run->position / a_round + 1;
    DP_TRY(run_epoch(run, epoch, dp_min_i64(end, epoch * a_round), epochs, end));
  }
  return DP_OK;
}
