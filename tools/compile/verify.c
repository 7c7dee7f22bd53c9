// dpc verify: runs every check on a plan, and compares it with a model if one is given.
#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/plan/options.h"
#include "ir/plan/plan.h"
#include "ir/verify/verify.h"
#include "passes/options_record.h"
#include "tools/compile/against.h"
#include "tools/compile/decide.h"
#include "tools/compile/dpc.h"

typedef struct {
  const char *path, *against;
  dp_dpc_decide given;
} verify_options;

enum { KEY_AGAINST = 256 };

static error_t parse(int key, char *text, struct argp_state *state) {
  verify_options *o = state->input;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = &o->given;
  } else if (key == KEY_AGAINST) {
    o->against = text;
  } else if (key == ARGP_KEY_ARG) {
    if (o->path) argp_error(state, "give only one plan");
    o->path = text;
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static void print_names(const char *what, size_t count, Dp__Binding *const *bindings) {
  for (size_t i = 0; i < count; i++) printf("%s %s", i ? "," : what, bindings[i]->name);
}

// Lists the programs with their inputs, outputs and the number of variables they update.
static void print_programs(const Dp__Plan *plan) {
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t i = 0; i < plan->roles[r]->n_programs; i++) {
      const Dp__Program *p = plan->roles[r]->programs[i];
      printf("program %s%s%s:", p->name, plan->n_roles > 1 ? ", " : "", plan->n_roles > 1 ? plan->roles[r]->name : "");
      print_names(" from", p->n_inputs, p->inputs);
      print_names(p->n_inputs ? "; gives" : " gives", p->n_outputs, p->outputs);
      printf("%s updates %zu variable%s\n", p->n_inputs + p->n_outputs ? ";" : "", p->n_exit,
             p->n_exit == 1 ? "" : "s");
    }
}

// Options matter only with a model, since only then is anything compiled.
static dp_status check_options(dp_arena *arena, const verify_options *o) {
  if (!o->path) return dp_fail(EX_USAGE, "no plan given: dpc verify PLAN");
  dp_plan_option *options;
  const size_t n = dp_plan_options_list(arena, dp_options_message(arena, &o->given.options), &options);
  if (!n || o->against) return DP_OK;
  return dp_fail(EX_USAGE, "--%s has an effect only when the model is compiled again: add --against=MODEL",
                 options[0].name);
}

dp_status dp_dpc_verify_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"against", KEY_AGAINST, "MODEL", 0,
       "Compile MODEL again with the options that the plan records, by the same passes, and compare the plan's logical "
       "graphs and first values with the result. This does not show what the passes get wrong both times",
       0},
      {0, 0, 0, 0, "With --against, options of dpc compile: each must equal what the plan records", 0},
      {0}};
  static const struct argp_child children[] = {{&dp_dpc_decide_argp, 0, NULL, 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .children = children,
      .parser = parse,
      .args_doc = "PLAN",
      .doc =
          "Checks that a plan has no race, no deadlock and no overlap of live values, and that it computes what its "
          "logical graph says. Prints what was proved; or prints the first rule that is violated and exits with "
          "65.\vExamples:\n"
          "  dpc compile examples/mlp.dpt --batch=64 -o plan.bin\n"
          "  dpc verify plan.bin\n"
          "  dpc verify plan.bin --against=examples/mlp.dpt\n"
          "  dpc verify plan.bin --against=examples/mlp.dpt --batch=64",
  };
  verify_options o = {.given = {.arena = arena}};
  dp_status status = dp_cli_parse(&argp, argc, argv, &o);
  if (o.given.status) {
    dp_status_free(status);
    return o.given.status;
  }
  DP_TRY(status);
  DP_TRY(check_options(arena, &o));
  DP_TRY(dp_file_allow_pipe(o.path));
  DP_TRY(dp_file_allow_pipe(o.against));
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(arena, o.path, &plan));
  dp_verify_report report = {0};
  status = dp_verify_plan(plan, &report);
  if (status) return dp_status_context(status, "%s", o.path);
  dp_verify_print(&report, stdout);
  print_programs(plan);
  if (!o.against) return DP_OK;
  return dp_status_context(dp_dpc_against_check(arena, plan, o.against, &o.given), "%s", o.path);
}
