// dprun in pieces: what a run holds, and the loops of training, evaluation and inference.
#ifndef DP_TOOLS_RUN_DPRUN_H
#define DP_TOOLS_RUN_DPRUN_H

#include "runtime/metrics.h"
#include "tools/run/feed.h"
#include "tools/run/options.h"
#include "tools/run/output.h"
#include "tools/run/progress.h"

typedef struct {
  dp_arena *arena;
  const dp_dprun_options *options;
  Dp__Plan *plan;
  dp_session *session;
  dp_dprun_feed train, eval, infer;  // loader NULL: no data was given for it
  dp_dprun_outputs outputs;          // of infer
  dp_metrics metrics;
  // What the loop finds out.
  int64_t steps;             // done
  double loss;               // of the evaluation when there is one, else the mean over the steps from first_step on
  int64_t first_step;        // from 1; 0: the loss is an evaluation's
  double accuracy;           // of the last evaluation; below 0: none, or the loss has no classes
  bool measured;             // loss and accuracy say something
  bool reported_not_finite;  // once is enough
} dp_dprun;

// Trains as long as the options say and evaluates after each epoch; ends early, with success, when a signal came.
dp_status dp_dprun_train_run(dp_dprun *run) DP_MUST_USE;

// Infers over all the data and writes the outputs, all of them or, when a signal came (EX_TEMPFAIL), none.
dp_status dp_dprun_infer_run(dp_dprun *run) DP_MUST_USE;

// The memory that the run took, in the metrics and, unless --quiet, on stderr.
void dp_dprun_memory_report(dp_dprun *run);

// Whether SIGINT, SIGTERM, SIGHUP or SIGUSR1 came. Further ones change nothing: the step ends and what is asked for is
// saved. One that was ignored when the program began (nohup) stays ignored.
void dp_dprun_signal_catch(void);
bool dp_dprun_signal_came(void);

#endif
