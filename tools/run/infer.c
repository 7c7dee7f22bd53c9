// dprun --infer: runs the program infer over the whole data set, in file order, and writes its outputs to files.
#include <stdio.h>

#include "tools/run/dprun.h"
#include "tools/run/steps.h"

static dp_status end_batch(void *context, const dp_step *step, double ms) {
  dp_dprun *run = context;
  (void)ms;
  run->steps++;
  return dp_dprun_output_take(&run->outputs, step->step, step->n);
}

static dp_status run_batches(dp_dprun *run) {
  const dp_dprun_steps steps = {
      .session = run->session, .feed = &run->infer, .what = "batch", .done = end_batch, .context = run};
  return dp_dprun_steps_run(&steps);
}

// Predictions of an untrained network are rarely intended.
void dp_dprun_note_untrained(const dp_dprun *run) {
  size_t drawn = 0;
  for (size_t i = 0; i < run->plan->n_variables; i++) {
    const Dp__Variable *p = run->plan->variables[i];
    drawn += p->kind == DP_PARAMETER && (!p->initial || p->initial->kind != DP_INIT_TENSOR);
  }
  if (drawn && !run->options->init.path && !run->options->quiet)
    fprintf(stderr, "%zu parameters have their initial, untrained values; --init=W.safetensors loads trained ones\n",
            drawn);
}

dp_status dp_dprun_infer_run(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  dp_dprun_note_untrained(run);
  const double begun = dp_progress_now();
  DP_TRY(dp_dprun_output_open(run->arena, run->session, &run->infer, run->plan->batch, o->outputs, o->n_outputs,
                              &run->outputs));
  DP_TRY(dp_dprun_feed_begin(&run->infer, 0, run->infer.steps));
  dp_status status = run_batches(run);
  dp_dprun_feed_end(&run->infer);
  DP_TRY(status);
  if (run->steps < run->infer.steps)
    return dp_fail(EX_TEMPFAIL, "interrupted after batch %lld of %lld; no output was written", (long long)run->steps,
                   (long long)run->infer.steps);
  DP_TRY(dp_dprun_output_commit(&run->outputs));
  double seconds = dp_progress_now() - begun;
  dp_metrics_infer(&run->metrics, run->infer.samples, seconds * 1e3);
  if (!o->quiet)
    fprintf(stderr, "%lld samples  %.0f samples/s\n", (long long)run->infer.samples,
            (double)run->infer.samples / seconds);
  return DP_OK;
}
