// Where training starts: at the first step, or where a checkpoint ends.
#include <stdio.h>
#include <string.h>

#include "ir/plan/plan.h"
#include "ir/plan/schedule_spec.h"
#include "tools/run/dprun.h"
#include "tools/run/identity.h"
#include "tools/run/resume.h"

static dp_status make_record(const dp_dprun *run, dp_checkpoint_record *record) {
  const dp_dprun_options *o = run->options;
  dp_checkpoint_record r = {
      .seed = o->seed,
      .batch = run->plan->batch,
      .samples = run->train.samples,
      .shuffle = o->shuffle,
      .drop_last = o->drop_last,
      .optimizer = run->plan->optimizer,
      .lr = run->plan->schedule ? run->plan->schedule->lr : 0,
      .schedule = o->schedule,
      .best = run->best,
  };
  DP_TRY(dp_loader_hash(run->train.loader, &r.data));
  DP_TRY(dp_dprun_hash_model(run->plan, &r.model));
  DP_TRY(dp_plan_hash(o->plan, &r.plan));
  *record = r;
  return DP_OK;
}

// Where the checkpoint stands in this run's epochs. If the batch or the data changed, its step within the epoch becomes
// the one that has seen as many samples, rounded down.
static dp_status find_position(const dp_dprun *run, const dp_checkpoint_record *then, int64_t *position) {
  const int64_t steps = run->train.steps;
  const __int128 seen = (__int128)then->position * then->batch / run->plan->batch;
  const __int128 at = (__int128)(then->epoch - 1) * steps + (seen < steps ? seen : steps);
  if (at > INT64_MAX / 4) return dp_fail(EX_DATAERR, "--resume: impossible: epoch %lld", (long long)then->epoch);
  *position = (int64_t)at;
  return DP_OK;
}

static dp_status prepare_checkpoints(dp_dprun *run, const dp_checkpoint_record *now) {
  const dp_dprun_options *o = run->options;
  dp_dprun_checkpoints *c = &run->checkpoints;
  c->keep = o->keep;
  c->sync = o->save_sync;
  DP_TRY(dp_dprun_checkpoints_prepare(run->arena, run->session, now, c));
  if (!o->quiet)
    fprintf(stderr, "checkpoints of %.1f MiB in %s, %s\n", (double)c->bytes / (1 << 20), o->save,
            c->sync ? "written between two steps" : "written from a copy of as much host memory");
  return DP_OK;
}

static dp_status go_on(dp_dprun *run, const dp_checkpoint_record *now) {
  const dp_dprun_options *o = run->options;
  dp_checkpoint_record then;
  // A rate that is asked for is no mistake.
  const unsigned allowed = o->lr >= 0 ? o->allowed | DP_CHANGE_LR : o->allowed;
  DP_TRY(dp_dprun_resume(run->arena, o->resume, now, allowed, run->session, &then));
  if (then.step < 0) {
    if (!o->quiet) fprintf(stderr, "no checkpoint in %s: starting afresh\n", o->resume);
    return DP_OK;
  }
  run->steps = then.step;
  const bool same = run->best.metric && then.best.metric && !strcmp(run->best.metric, then.best.metric);
  if (same) run->best = then.best;
  DP_TRY(find_position(run, &then, &run->position));
  run->resumed = true;
  if (run->checkpoints.resumed) DP_TRY(dp_dprun_checkpoints_go_on(&run->checkpoints, &then));
  if (!o->quiet)
    fprintf(stderr, "going on from %s, after step %lld\n", dp_checkpoints_path(run->arena, o->resume, then.step),
            (long long)then.step);
  return DP_OK;
}

// The schedule is numbers that the runtime computes with, so another rate or schedule needs no other plan.
static dp_status take_rate(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  if (o->lr < 0 && !o->schedule) return DP_OK;
  if (!run->plan->schedule || !*run->plan->schedule->kind)
    return dp_fail(EX_CONFIG, "--%s: the plan does not train", o->schedule ? "schedule" : "lr");
  Dp__Schedule *schedule = dp_memdup(run->arena, run->plan->schedule, sizeof *schedule);
  run->plan->schedule = schedule;
  if (o->schedule) dp_schedule_set(schedule, &o->schedule_spec);
  if (o->lr >= 0) schedule->lr = o->lr;
  if (schedule->lr < schedule->min_lr)
    return dp_fail(EX_CONFIG, "%s=%g is less than min_lr=%g of %s", o->lr >= 0 ? "--lr" : "the plan's lr", schedule->lr,
                   schedule->min_lr, o->schedule ? "--schedule" : "the plan's schedule");
  return DP_OK;
}

dp_status dp_dprun_start(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  dp_checkpoint_record now;
  DP_TRY(take_rate(run));
  if (!o->checkpoints && !o->resume) return DP_OK;
  if (!run->train.loader) return dp_fail(EX_USAGE, "checkpoints are for training: add --data NAME=FILE");
  DP_TRY(make_record(run, &now));
  if (o->checkpoints) DP_TRY(prepare_checkpoints(run, &now));
  if (!o->resume) return DP_OK;
  DP_TRY(go_on(run, &now));
  return dp_metrics_go_on(&run->metrics, run->steps);
}
