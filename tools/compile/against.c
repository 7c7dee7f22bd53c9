// See against.h.
#include "tools/compile/against.h"

#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "ir/plan/form.h"
#include "ir/plan/options.h"
#include "ir/verify/against.h"
#include "ir/verify/against_learning_rate.h"
#include "passes/emit/calibration.h"
#include "passes/emit/learning_rate.h"
#include "passes/options_record.h"
#include "passes/pipeline.h"
#include "tools/compile/decide.h"
#include "tools/compile/dpc.h"

// ---- the options that the plan records ------------------------------------------------------------------------------

// dpc derives these from the machine by default, so the plan's values are kept whatever this machine has.
static bool is_of_machine(const char *option) { return !strcmp(option, "threads") || !strcmp(option, "isa"); }

// Which file it names is not the plan's to say: the user gives it again.
static bool is_file(const char *option) { return !strcmp(option, "calibration"); }

// The command line that made the plan, as in argv. Options that were not given are left to dpc's defaults again.
static char **words_of(dp_arena *arena, const Dp__Options *record, int *count) {
  dp_plan_option *options;
  const size_t n = dp_plan_options_list(arena, record, &options);
  char **words = dp_alloc_n(arena, n + 2, sizeof *words);
  *count = 0;
  words[(*count)++] = dp_strdup(arena, "dpc");
  for (size_t i = 0; i < n; i++)
    if ((!options[i].defaulted || is_of_machine(options[i].name)) && !is_file(options[i].name))
      words[(*count)++] = options[i].flag ? dp_printf(arena, "--%s", options[i].name)
                                          : dp_printf(arena, "--%s=%s", options[i].name, options[i].value);
  words[*count] = NULL;
  return words;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  (void)text;
  if (key == ARGP_KEY_INIT) state->child_inputs[0] = state->input;
  return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
}

static dp_status read_record(dp_arena *arena, const Dp__Options *record, dp_options *options) {
  static const struct argp_child children[] = {{&dp_dpc_decide_argp, 0, NULL, 0}, {0}};
  static const struct argp argp = {.children = children, .parser = parse};
  dp_dpc_decide decide = {.arena = arena};
  int count;
  char **words = words_of(arena, record, &count);
  dp_status status = dp_cli_parse(&argp, count, words, &decide);
  if (decide.status) {
    dp_status_free(status);
    status = decide.status;
  }
  *options = decide.options;
  if (!status) return DP_OK;
  dp_status wrong =
      dp_fail(EX_DATAERR, "the plan records options that dpc compile does not accept: %s", dp_status_message(status));
  dp_status_free(status);
  return wrong;
}

// ---- comparing options ----------------------------------------------------------------------------------------------

static dp_status check_given(dp_arena *arena, const Dp__Options *given, const Dp__Options *record) {
  const char *wanted, *found, *name = dp_plan_options_differ(arena, given, record, &wanted, &found);
  if (!name) return DP_OK;
  return dp_fail(EX_DATAERR, "--%s=%s is given, but the plan was compiled with %s", name, wanted, found);
}

// The defaults of the second compilation must equal those that the plan records.
static dp_status check_taken(dp_arena *arena, const char *path, const Dp__Options *taken, const Dp__Options *record) {
  const char *here, *there, *name = dp_plan_options_differ(arena, taken, record, &here, &there);
  if (!name) name = dp_plan_options_differ(arena, record, taken, &there, &here);
  if (!name) return DP_OK;
  return dp_fail(EX_DATAERR, "%s, compiled with the plan's options, gets --%s=%s, but the plan records %s", path, name,
                 here, there);
}

// For a plan that records no options: the ones used now must suit it as if it recorded them, except for the machine's.
static dp_status check_unrecorded(const Dp__Plan *plan, const char *path, Dp__Options *taken) {
  Dp__Plan recorded = *plan;
  recorded.options = taken;
  if (!*taken->isa) taken->isa = plan->target->isa;
  if (taken->threads < plan->target->threads) taken->threads = plan->target->threads;
  return dp_status_context(dp_plan_form_check(&recorded, NULL), "%s, compiled with the given options", path);
}

static void print_options(dp_arena *arena, const Dp__Options *given, const Dp__Options *record) {
  if (!record) {
    puts("options: the plan records none; compiled with those given and defaults");
    return;
  }
  fputs("options taken from the plan:", stdout);
  if (!dp_plan_options_print(arena, record, false, given, stdout)) fputs(" none", stdout);
  fputs("\noptions given that equal the plan's:", stdout);
  if (!dp_plan_options_print(arena, given, false, NULL, stdout)) fputs(" none", stdout);
  putchar('\n');
}

static dp_status check_calibration(dp_arena *arena, const Dp__Plan *plan, const dp_dpc_decide *given) {
  Dp__Calibration *a = plan->calibration, *b = NULL;
  if (plan->options && *plan->options->calibration && !given->calibration)
    return dp_fail(EX_USAGE, "the plan was compiled with --calibration=%s: give it too, to compile the same again",
                   plan->options->calibration);
  if (given->calibration) b = dp_emit_calibration(arena, &given->calibration->measured);
  size_t bytes = a ? dp__calibration__get_packed_size(a) : 0;
  bool same = !a == !b && bytes == (b ? dp__calibration__get_packed_size(b) : 0);
  if (same && a) {
    uint8_t *packed = dp_alloc(arena, 2 * bytes);
    dp__calibration__pack(a, packed);
    dp__calibration__pack(b, packed + bytes);
    same = !memcmp(packed, packed + bytes, bytes);
  }
  return same ? DP_OK : dp_fail(EX_DATAERR, "the plan's choices of algorithms are not those of --calibration");
}

// ---- compiling again ------------------------------------------------------------------------------------------------

dp_status dp_dpc_against_check(dp_arena *arena, const Dp__Plan *plan, const char *path, const dp_dpc_decide *given) {
  dp_model *model;
  dp_options options = given->options;
  dp_against_report report;
  Dp__Plan *none;
  Dp__Schedule *schedule;
  const dp_backend_entry *entry = plan->target ? dp_backend_find(plan->target->backend) : NULL;
  const dp_target *target = options.target ? options.target : (entry ? entry : dp_backend_default())->target;
  dp_dpc_decide_fast_math(&options, target);
  Dp__Options *taken = NULL, *asked = dp_options_message(arena, &options);
  if (plan->options) {
    DP_TRY(check_given(arena, asked, plan->options));
    DP_TRY(check_calibration(arena, plan, given));
    DP_TRY(read_record(arena, plan->options, &options));
    options.calibration = given->options.calibration;
  }
  if (!plan->options && !options.metrics) options.metrics = DP_DPC_DECIDE_METRICS;
  if (!options.target) options.target = target;
  DP_TRY(dp_dpc_calibration_apply(arena, given->calibration, &options));
  options.stop_after = "place";
  options.record = &taken;
  DP_TRY(dp_dpc_import_read_asked(arena, path, &options, &model));
  DP_TRY(dp_status_context(dp_pipeline_run(model, &options, &none), "%s, compiled as the plan was", path));
  DP_TRY(plan->options ? check_taken(arena, path, taken, plan->options) : check_unrecorded(plan, path, taken));
  DP_TRY(dp_status_context(dp_against_check(arena, plan, model, &report), "%s", path));
  DP_TRY(dp_emit_learning_rate(arena, model->optimizer, &schedule));
  DP_TRY(dp_status_context(dp_against_learning_rate_check(plan->schedule, schedule), "%s", path));
  print_options(arena, asked, plan->options);
  printf(
      "the same as %s, compiled again with the passes of this dpc: %d variables; %d programs with %d outputs and %d "
      "updates (this does not show what the passes get wrong both times)\n",
      path, report.variables, report.programs, report.outputs, report.updates);
  return DP_OK;
}
