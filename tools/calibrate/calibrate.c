// dpc calibrate: measures this machine's device for the cost model of the passes, and the algorithms of its libraries
// for the steps of plans.
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/calibrate.h"

#include "ir/base/file.h"
#include "ir/plan/plan.h"
#include "runtime/base/calibrator.h"
#include "runtime/session.h"
#include "tools/backends.h"
#include "tools/calibrate/calibration.h"
#include "tools/cli.h"

enum { KEY_DEVICE = 256, KEY_THREADS, KEY_ISA };

typedef struct {
  dp_arena *arena;
  const dp_backend_entry *entry;
  const char *devices, *output, *isa;
  int64_t threads;
  int n_plans;
  const char **plans;
  dp_status status;
} calibrate_options;

static dp_status set_option(calibrate_options *o, int key, char *text) {
  switch (key) {
    case 'o':
      o->output = text;
      return DP_OK;
    case KEY_DEVICE:
      return dp_cli_backend(o->arena, "device", text, &o->entry, &o->devices);
    case KEY_THREADS:
      return dp_cli_int("threads", text, 1, 256, &o->threads);
    case KEY_ISA:
      o->isa = text;
      return DP_OK;
    default:
      DP_PUSH(o->arena, o->plans, o->n_plans, text);
      return DP_OK;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  calibrate_options *o = state->input;
  if (key != 'o' && key != ARGP_KEY_ARG && (key < KEY_DEVICE || key > KEY_ISA)) return ARGP_ERR_UNKNOWN;
  if (!o->status) o->status = set_option(o, key, text);
  return 0;
}

static char *help(int key, const char *text, void *input) {
  (void)input;
  return key == KEY_DEVICE ? dp_cli_backend_help(text) : (char *)(uintptr_t)text;
}

static dp_status check_options(const calibrate_options *o) {
  if (!o->entry) return dp_fail(EX_USAGE, "no device given: add --device=cpu or --device=cuda");
  if (!o->output) return dp_fail(EX_USAGE, "no file given to write: add -o FILE");
  if (o->n_plans && !o->entry->calibrator)
    return dp_fail(EX_CONFIG, "%s: %s has no libraries to choose algorithms of: leave out the plan", o->plans[0],
                   o->entry->name);
  if (o->isa && !o->entry->target->set_isa)
    return dp_fail(EX_CONFIG, "--isa=%s: backend %s has no instruction sets", o->isa, o->entry->name);
  dp_cli_file files[2] = {{"-o", o->output, true}};
  for (int i = 0; i < o->n_plans; i++) {
    DP_TRY(dp_file_allow_pipe(o->plans[i]));
    files[1] = (dp_cli_file){"PLAN", o->plans[i], false};
    DP_TRY(dp_cli_files_check(files, 2));
  }
  return dp_cli_check_writable("-o", o->output, true);
}

// With 1, 2, 4 ... threads, and with as many as the target gives to one device; or with those that were asked for.
static dp_status measure_costs(const calibrate_options *o, const dp_backend *backend, dp_dpc_calibration *c) {
  const int most = o->threads ? (int)o->threads : o->entry->target->threads(1);
  int threads = o->threads ? most : 1;
  while (c->n_costs < DP_DPC_MOST_COSTS) {
    DP_TRY(dp_dpc_costs_measure(o->arena, o->entry, backend, o->isa, threads, &c->costs[c->n_costs++]));
    if (threads == most) break;
    threads = threads * 2 < most ? threads * 2 : most;
  }
  return DP_OK;
}

// The programs of a plan that run more than once, at full batches.
static dp_status measure_plan(const dp_calibrator *calibrator, const Dp__Plan *plan) {
  static const char *const programs[] = {"train", "eval", "infer"};
  dp_session *session;
  DP_TRY(dp_session_create(plan, calibrator->backend, &(dp_session_options){.workers = 1}, &session));
  dp_status status = DP_OK;
  for (size_t i = 0; i < DP_COUNT(programs) && !status; i++) {
    const int program = dp_session_find(session, programs[i]);
    if (program >= 0) status = dp_session_calibrate(session, program, plan->batch, calibrator);
  }
  dp_session_destroy(session);
  return status;
}

static dp_status measure_plans(const calibrate_options *o, dp_dpc_calibration *c) {
  const dp_calibrator *calibrator = o->entry->calibrator;
  if (!calibrator) return DP_OK;
  DP_TRY(calibrator->begin(o->arena));
  dp_status status = DP_OK;
  for (int i = 0; i < o->n_plans && !status; i++) {
    Dp__Plan *plan;
    status = dp_plan_read(o->arena, o->plans[i], &plan);
    if (!status) status = dp_status_context(measure_plan(calibrator, plan), "%s", o->plans[i]);
  }
  dp_status ended = calibrator->end(&c->measured, &c->driver);
  if (!status) return ended;
  dp_status_free(ended);
  return status;
}

static void print_summary(const calibrate_options *o, const dp_dpc_calibration *c) {
  double chosen = 0, first = 0;
  for (int i = 0; i < c->measured.n_choices; i++) {
    chosen += c->measured.choices[i].ns;
    first += c->measured.choices[i].first_ns;
  }
  const dp_dpc_costs *most = &c->costs[c->n_costs - 1];
  fprintf(stderr, "%s: %s%s%.1f GFLOP/s and %.1f GB/s, %.1f us to begin an instruction", o->output, c->measured.device,
          *c->measured.device ? ": " : "", most->flops_per_ns, most->bytes_per_ns, most->start_ns / 1e3);
  if (c->measured.n_choices)
    fprintf(stderr, "; %d calls of libraries, %.3g us by the fastest algorithms, %.3g by those named first",
            c->measured.n_choices, chosen / 1e3, first / 1e3);
  fputc('\n', stderr);
}

dp_status dp_dpc_calibrate_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"device", KEY_DEVICE, "BACKEND", 0, "What to measure: the device of this machine", 0},
      {"output", 'o', "FILE", 0, "Output file, JSON; for dpc compile --calibration=FILE", 0},
      {"threads", KEY_THREADS, "T", 0,
       "Measure with T threads for an instruction (default: 1, 2, 4 and so on, up to this machine's cores)", 0},
      {"isa", KEY_ISA, "avx2|avx512", 0, "Instruction set to measure with (default: this machine's)", 0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "[PLAN...]",
      .help_filter = help,
      .doc =
          "Measures the device of this machine: how fast it computes and copies, which dpc compile "
          "--calibration=FILE estimates times by; and, for the steps of the plans, which algorithms of CUDA's "
          "libraries are the fastest, which the plan then records and dprun takes.\vExamples:\n"
          "  dpc calibrate --device=cpu -o cpu.json\n"
          "  dpc compile examples/mlp.dpt --batch=64 --calibration=cpu.json -o plan.bin\n"
          "On a machine with a GPU, `dpc calibrate PLAN --device=cuda -o FILE` measures for a plan that was compiled "
          "with --target=cuda; docs/calibration.md says what and how.",
  };
  calibrate_options o = {.arena = arena};
  dp_status status = dp_cli_parse(&argp, argc, argv, &o);
  if (o.status) {
    dp_status_free(status);
    return o.status;
  }
  DP_TRY(status);
  DP_TRY(check_options(&o));
  const dp_target *target = o.entry->target;
  const dp_backend *backend;
  if (o.isa) {
    dp_status wrong = target->set_isa(o.isa);
    if (dp_status_code(wrong) == EX_DATAERR) {  // it words what a plan may have wrong
      dp_status_free(wrong);
      return dp_fail(EX_USAGE, "--isa=%s: there is no such instruction set", o.isa);
    }
    DP_TRY(wrong);
  }
  dp_dpc_calibration c = {.entry = o.entry, .driver = "", .measured = {.device = ""}};
  c.isa = dp_dpc_calibration_isa(target, o.isa);
  DP_TRY(o.entry->open(o.devices, &backend));
  DP_TRY(measure_costs(&o, backend, &c));
  DP_TRY(measure_plans(&o, &c));
  DP_TRY(dp_dpc_calibration_write(&c, o.output));
  print_summary(&o, &c);
  return DP_OK;
}
