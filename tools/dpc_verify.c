// dpc verify: reads a plan and runs every check on it.
#include <stdio.h>

#include "ir/plan.h"
#include "ir/verify/verify.h"
#include "tools/dpc.h"

typedef struct {
  const char *path, *against;
} verify_options;

enum { KEY_AGAINST = 256 };

static error_t parse(int key, char *text, struct argp_state *state) {
  verify_options *o = state->input;
  if (key == KEY_AGAINST) {
    o->against = text;
  } else if (key == ARGP_KEY_ARG) {
    if (o->path) argp_error(state, "one plan is checked at a time");
    o->path = text;
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static void print_names(const char *what, size_t count, Dp__Binding *const *bindings) {
  for (size_t i = 0; i < count; i++) printf("%s %s", i ? "," : what, bindings[i]->name);
}

// What can be run, from what to what, and what it changes.
static void print_programs(const Dp__Plan *plan) {
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t i = 0; i < plan->roles[r]->n_programs; i++) {
      const Dp__Program *p = plan->roles[r]->programs[i];
      printf("program %s:", p->name);
      print_names(" from", p->n_inputs, p->inputs);
      print_names(p->n_inputs ? "; gives" : " gives", p->n_outputs, p->outputs);
      printf("%s updates %zu persistent values\n", p->n_inputs + p->n_outputs ? ";" : "", p->n_left);
    }
}

dp_status dp_dpc_verify_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {{"against", KEY_AGAINST, "MODEL", OPTION_HIDDEN, 0, 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "PLAN",
      .doc =
          "Checks a plan: that it has no race, no deadlock and no overlap of what is needed together, and that it "
          "computes "
          "what its logical graph says. Prints what was proved, or the first rule that does not hold and exits 65.\v"
          "Example:\n  dpc verify plan.bin",
  };
  verify_options o = {0};
  DP_TRY(dp_cli_parse(&argp, argc, argv, &o));
  if (!o.path) return dp_fail(EX_USAGE, "no plan is given: dpc verify PLAN");
  if (o.against)
    return dp_fail(EX_UNAVAILABLE, "--against is not built: a plan is checked against the graph inside it");
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(arena, o.path, &plan));
  dp_verify_report report = {0};
  dp_status status = dp_verify_plan(plan, &report);
  if (status) return dp_status_context(status, "%s", o.path);
  dp_verify_print(&report, stdout);
  print_programs(plan);
  return DP_OK;
}
