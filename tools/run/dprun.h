// The parts of dprun: the state of a run, and the loops of training, evaluation and inference.
#ifndef DP_TOOLS_RUN_DPRUN_H
#define DP_TOOLS_RUN_DPRUN_H

#include "runtime/metrics.h"
#include "tools/run/board.h"
#include "tools/run/checkpoint.h"
#include "tools/run/feed.h"
#include "tools/run/measure.h"
#include "tools/run/options.h"
#include "tools/run/output.h"
#include "tools/run/progress.h"
#include "tools/run/several.h"
#include "tools/run/signal.h"

typedef struct {
  dp_arena *arena;
  const dp_dprun_options *options;
  Dp__Plan *plan;
  dp_arena *initial;  // the plan's large first values, until the session has them
  dp_session *session;
  dp_dprun_feed train, eval, infer;  // loader NULL: no data given
  dp_dprun_outputs outputs;          // of `infer`
  dp_metrics metrics;
  dp_tensorboard board;
  dp_progress progress;
  int argc;
  char **argv;
  dp_dprun_place place;              // of the run among others
  dp_dprun_checkpoints checkpoints;  // folder.fd -1: --save asks for none
  int64_t position;                  // of the next batch, as the loader counts them
  bool resumed;                      // training goes on from a checkpoint
  // Results of the loops.
  int64_t steps;                     // completed steps, including those before a checkpoint that was gone on from
  double loss;                       // of the last evaluation, if any; else the mean over the steps from first_step on
  int64_t first_step;                // counts from 1; 0: the loss is from an evaluation
  double accuracy;                   // of the last evaluation; < 0: none, or the loss has no classes
  bool measured;                     // loss and accuracy are set
  dp_tally step_tally, train_tally;  // of the last step, of the epoch
  dp_tally eval_tally;               // of the last evaluation
  dp_checkpoint_best best;           // of the evaluations; its metric is NULL if none is watched
  bool stopped;                      // by --early-stop
  bool reported_not_finite;          // report it only once
  int64_t skipped;                   // steps of this run whose gradients were not finite (--precision=fp16)
} dp_dprun;

// Compiles what the plan needs into the folder of --make-code. EX_CONFIG: its backend needs nothing compiled; otherwise
// as dp_session_create and dp_code_maker.make.
dp_status dp_dprun_make_code(dp_dprun *run) DP_MUST_USE;

// Goes on from a checkpoint if --resume finds one, and prepares to write others. EX_USAGE, and as in resume.h.
dp_status dp_dprun_start(dp_dprun *run) DP_MUST_USE;

// Adds this run to what the folder of --save says of its runs. EX_CANTCREAT, EX_IOERR.
dp_status dp_dprun_runs_add(const dp_dprun *run) DP_MUST_USE;

// Trains as long as the options say, and evaluates after each epoch. A signal ends it early, with DP_OK.
dp_status dp_dprun_train_run(dp_dprun *run) DP_MUST_USE;
// Begins to write a checkpoint of the last step.
dp_status dp_dprun_train_save(dp_dprun *run) DP_MUST_USE;

// Whether --best and --early-stop go with the plan and the data. EX_USAGE.
dp_status dp_dprun_watch_open(dp_dprun *run) DP_MUST_USE;
// Judges the evaluation that was made after the last step: begins to save a checkpoint if it is the best, and sets
// run->stopped if training has waited long enough for a better one.
dp_status dp_dprun_watch_judge(dp_dprun *run) DP_MUST_USE;
// Prints the result as the last line, and on stderr what else is known of the evaluations.
void dp_dprun_result_print(const dp_dprun *run, FILE *out);
// Prints the beginning of a line of JSON about the result.
void dp_dprun_result_begin(const dp_dprun *run, FILE *out);
void dp_dprun_verbose_print(const dp_dprun *run);
// Prints on stderr which evaluation was the best, and whether training was stopped for want of a better one.
void dp_dprun_watch_print(const dp_dprun *run);

// Infers over all the data and writes all outputs; or none, if a signal came (EX_TEMPFAIL).
dp_status dp_dprun_infer_run(dp_dprun *run) DP_MUST_USE;

// Says on stderr that parameters have their initial values, if nothing else was loaded.
void dp_dprun_note_untrained(const dp_dprun *run);

// --bench-data: loads as training would, without training, and prints the rate.
dp_status dp_dprun_bench_data(dp_dprun *run) DP_MUST_USE;

// Reports the memory of the run in the metrics and, unless --quiet, on stderr.
void dp_dprun_memory_report(dp_dprun *run);

#endif
