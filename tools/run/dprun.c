// dprun: checks a plan and executes it. Everything is read, checked and allocated before the first step.
#include "tools/run/dprun.h"
#include "tools/run/average.h"

#include <stdio.h>
#include <string.h>

#include "ir/plan/plan.h"
#include "ir/plan/report/print.h"
#include "ir/verify/verify.h"
#include "tools/report/report.h"
#include "tools/run/device.h"
#include "tools/run/generate.h"
#include "tools/run/init.h"
#include "tools/run/line.h"
#include "tools/run/weights.h"

// The file's tensors go once the session has them.
static dp_status load_weights(const dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  const bool infer = o->infer || o->generate.count >= 0;
  dp_arena *arena = dp_arena_create_within(run->arena);
  dp_weights weights;
  DP_TRY(dp_dprun_init_load(arena, run->session, &o->init, o->checkpoints ? NULL : o->save, infer, &weights));
  if (!o->quiet) dp_weights_note(&o->init, &weights);
  dp_arena_destroy(arena);
  return DP_OK;
}

static dp_status open_session(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  const dp_session_options options = {.workers = (int)o->threads,
                                      .seed = o->seed,
                                      .trace = o->trace != NULL,
                                      .check_finite = o->watch.check_nan,
                                      .initial = run->initial};
  const dp_backend *backend;
  DP_TRY(dp_dprun_device_open(o, run->plan, run->place.number > 0, &backend));
  DP_TRY(dp_session_create(run->plan, backend, &options, &run->session));
  dp_arena_destroy(run->initial);
  return o->init.path ? load_weights(run) : dp_dprun_averages_begin(run->arena, run->session);
}

typedef struct {
  dp_dprun *run;
  dp_status status;  // the first failure
} explaining;

static void print_choices(void *context, const Dp__Program *program, const Dp__Instruction *instruction, FILE *out) {
  explaining *e = context;
  dp_session *session = e->run->session;
  if (!e->status)
    e->status = dp_session_print_choices(session, dp_session_find(session, program->name), e->run->plan->batch,
                                         instruction, out);
}

// With --device, the device is opened and asked what it would choose for each step.
static dp_status explain(dp_dprun *run) {
  explaining e = {run, DP_OK};
  const dp_plan_notes notes = {print_choices, &e};
  if (!run->options->device) {
    DP_TRY(dp_verify_plan(run->plan, NULL));
    dp_plan_print(run->plan, NULL, stdout);
    return DP_OK;
  }
  DP_TRY(open_session(run));
  dp_session_describe(run->session, stdout);
  dp_plan_print(run->plan, &notes, stdout);
  return e.status;
}

static dp_status open_feeds(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  const dp_loader_options plain = {
      .batch = run->plan->batch, .seed = o->seed, .workers = (int)o->workers, .skip_broken = o->skip_broken};
  const int depth = (int)o->prefetch;
  dp_dprun_feeding train = {"train", "data", o->n_data, o->n_augments, o->data, o->augments, plain, depth};
  dp_dprun_feeding eval = {"eval", "eval-data", o->n_eval_data, 0, o->eval_data, NULL, plain, depth};
  if (o->infer) {
    const dp_dprun_feeding infer = {"infer", "data", o->n_data, 0, o->data, NULL, plain, depth};
    return dp_dprun_feed_open(run->arena, run->session, &infer, &run->infer);
  }
  train.loader.shuffle = o->shuffle;
  train.loader.drop_last = o->drop_last;
  if (o->validation > 0) {
    eval = (dp_dprun_feeding){"eval", "data", o->n_data, 0, o->data, NULL, plain, depth};
    train.loader.part = DP_PART_TRAINING;
    eval.loader.part = DP_PART_VALIDATION;
    train.loader.validation = eval.loader.validation = o->validation;
  }
  if (train.n_pairs || !eval.n_pairs) DP_TRY(dp_dprun_feed_open(run->arena, run->session, &train, &run->train));
  return eval.n_pairs ? dp_dprun_feed_open(run->arena, run->session, &eval, &run->eval) : DP_OK;
}

static void open_tallies(dp_dprun *run) {
  const bool classes = run->plan->classes;
  if (run->train.loader) {
    dp_tally_open(run->arena, run->session, run->train.program, classes, &run->step_tally);
    dp_tally_open(run->arena, run->session, run->train.program, classes, &run->train_tally);
  }
  if (run->eval.loader) dp_tally_open(run->arena, run->session, run->eval.program, classes, &run->eval_tally);
}

// Reports the first case only, since the other files are probably alike.
static void note_rounding(const dp_dprun *run) {
  const dp_dprun_feed *feeds[] = {&run->train, &run->eval, &run->infer};
  for (size_t i = 0; i < DP_COUNT(feeds) && !run->options->quiet; i++)
    if (feeds[i]->rounded) {
      dp_line_print(stderr, "%s (reported once)", feeds[i]->rounded);
      return;
    }
}

static dp_status write_trace(const dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  dp_trace_shares shares;
  if (!o->trace) return DP_OK;
  DP_TRY(dp_session_trace_write(run->session, o->trace));
  DP_TRY(dp_session_trace_share(run->session, &shares));
  if (shares.collectives_ns && !o->quiet)
    dp_line_print(stderr, "%s: %.1f ms of communication between devices, %.0f %% of it during computation", o->trace,
                  (double)shares.collectives_ns * 1e-6, 100 * (double)shares.hidden_ns / (double)shares.collectives_ns);
  return DP_OK;
}

// Adds to a failure of training what it has left to go on from.
static dp_status name_last_checkpoint(dp_dprun *run, dp_status failure) {
  if (!failure || !run->options->checkpoints) return failure;
  dp_status writing = dp_dprun_checkpoints_finish(&run->checkpoints);
  dp_status status = failure;
  if (run->checkpoints.whole >= 0) {
    status = dp_fail(dp_status_code(failure), "%s; step %lld was saved last: --resume goes on from it",
                     dp_status_message(failure), (long long)run->checkpoints.whole);
    dp_status_free(failure);
  }
  dp_status_free(writing);
  return status;
}

// Writes what a run leaves behind, even if it was interrupted.
static dp_status finish(dp_dprun *run) {
  const dp_dprun_options *o = run->options;
  if (o->checkpoints) {
    dp_status status = dp_dprun_train_save(run);
    if (!status) status = dp_dprun_checkpoints_finish(&run->checkpoints);
    DP_TRY(name_last_checkpoint(run, status));
  } else if (o->save) {
    DP_TRY(dp_dprun_weights_save(run->session, o->save));
  }
  dp_dprun_memory_report(run);
  DP_TRY(write_trace(run));
  if (dp_dprun_signal_came()) {
    const char *kept = o->checkpoints ? dp_printf(run->arena, "; --resume goes on from %s", o->save)
                       : o->save      ? dp_printf(run->arena, "; the weights are in %s", o->save)
                                      : "";
    return dp_fail(EX_TEMPFAIL, "interrupted after step %lld%s", (long long)run->steps, kept);
  }
  dp_dprun_result_print(run, dp_dprun_options_use_stdout(o) ? stderr : stdout);
  return DP_OK;
}

static dp_status execute(void *arg) {
  dp_dprun *run = arg;
  const dp_dprun_options *o = run->options;
  run->initial = dp_arena_create_within(run->arena);
  DP_TRY(dp_plan_read_apart(run->arena, run->initial, o->plan, &run->plan));
  if (o->explain) return explain(run);
  if (o->make_code) return dp_dprun_make_code(run);
  if (o->checkpoints)
    DP_TRY(dp_dprun_checkpoints_open(run->arena, o->save, o->resume, &run->checkpoints));
  else if (o->save)
    DP_TRY(dp_cli_check_writable("--save", o->save, false));
  if (o->trace) DP_TRY(dp_cli_check_writable("--trace", o->trace, true));
  for (int i = 0; i < o->n_outputs; i++) DP_TRY(dp_cli_check_writable("--output", o->outputs[i].file, false));
  DP_TRY(dp_metrics_open(o->metrics, run->plan->precision == DP_FLOAT64 ? 17 : 9, dp_dprun_signal_came,
                         o->resume != NULL, &run->metrics));
  if (o->watch.tensorboard) DP_TRY(dp_tensorboard_open(run->arena, o->watch.tensorboard, &run->board));
  DP_TRY(open_session(run));
  if (o->generate.count >= 0) {
    DP_TRY(dp_dprun_generate_run(run));
    dp_dprun_memory_report(run);
    return write_trace(run);
  }
  DP_TRY(open_feeds(run));
  if (o->bench_data) return dp_dprun_bench_data(run);
  open_tallies(run);
  DP_TRY(dp_dprun_watch_open(run));
  DP_TRY(dp_dprun_start(run));
  if (!o->resume) DP_TRY(dp_metrics_begin(&run->metrics));  // whatever could be refused has been
  DP_TRY(dp_dprun_runs_add(run));
  run->progress = dp_progress_begin(o->quiet);
  dp_dprun_board_options(run->arena, &run->board, run->plan, run->argc, run->argv);
  if (run->resumed) dp_tensorboard_go_on(&run->board, run->steps);
  note_rounding(run);
  if (o->watch.verbose) dp_dprun_verbose_print(run);
  if (o->infer) {
    DP_TRY(dp_dprun_infer_run(run));
    if (o->watch.json) {
      FILE *out = dp_dprun_options_use_stdout(o) ? stderr : stdout;
      dp_dprun_result_begin(run, out);
      fprintf(out, ",\"samples\":%lld}\n", (long long)run->infer.samples);
    }
    dp_dprun_memory_report(run);
    return write_trace(run);
  }
  DP_TRY(name_last_checkpoint(run, dp_dprun_train_run(run)));
  return finish(run);
}

// The first failure of two.
static dp_status first_of(dp_status first, dp_status second) {
  if (!first) return second;
  dp_status_free(second);
  return first;
}

static int run_one(int argc, char **argv, const dp_dprun_place *place) {
  dp_dprun_signal_catch(place->number > 0);
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_cli_finish("dprun", dp_fail(DP_EX_MEMORY, "out of memory"));
  dp_dprun_options options;
  dp_dprun run = {.arena = arena,
                  .options = &options,
                  .checkpoints = {.folder.fd = -1, .last = -1, .whole = -1},
                  .accuracy = -1,
                  .argc = argc,
                  .place = *place};
  run.argv = dp_memdup(arena, argv, ((size_t)argc + 1) * sizeof *argv);  // argp puts the options first
  dp_status status = dp_dprun_options_parse(arena, argc, argv, &options);
  if (!status && !options.threads) options.threads = place->threads;
  if (!status) status = dp_arena_run(arena, execute, &run);
  dp_dprun_checkpoints_close(&run.checkpoints);
  dp_dprun_feed_close(&run.train);
  dp_dprun_feed_close(&run.eval);
  dp_dprun_feed_close(&run.infer);
  dp_dprun_output_close(&run.outputs);
  dp_session_destroy(run.session);
  status = first_of(status, dp_metrics_close(&run.metrics));
  status = first_of(status, dp_tensorboard_close(&run.board));
  int code = dp_cli_finish("dprun", status);
  dp_arena_destroy(arena);
  return code;
}

int main(int argc, char **argv) {
  dp_cli_begin();
  if (argc > 1 && !strcmp(argv[1], "report")) {
    argv[1] = (char[]){"dprun report"};
    return dp_report_main(argc - 1, argv + 1);
  }
  if (argc > 1 && dp_dprun_several_asked(argv[1])) return dp_dprun_several_main(argc, argv, run_one);
  return run_one(argc, argv, &(dp_dprun_place){0, 0});
}
