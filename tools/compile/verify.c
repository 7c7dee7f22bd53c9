// dpc verify: reads a plan and runs every check on it; holds it against a model when one is given.
#include <stdio.h>
#include <string.h>

#include "backends/cpu/target.h"
#include "ir/file/proto.h"
#include "ir/plan/plan.h"
#include "ir/verify/against.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tools/compile/dpc.h"

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
      printf("program %s%s%s:", p->name, plan->n_roles > 1 ? ", " : "", plan->n_roles > 1 ? plan->roles[r]->name : "");
      print_names(" from", p->n_inputs, p->inputs);
      print_names(p->n_inputs ? "; gives" : " gives", p->n_outputs, p->outputs);
      printf("%s updates %zu variable%s\n", p->n_inputs + p->n_outputs ? ";" : "", p->n_exit,
             p->n_exit == 1 ? "" : "s");
    }
}

// ---- against a model ------------------------------------------------------------------------------------------------

static bool has_operator(const Dp__Plan *plan, const char *op) {
  for (size_t g = 0; g < plan->n_graphs; g++)
    for (size_t i = 0; i < plan->graphs[g]->n_nodes; i++)
      if (!strcmp(plan->graphs[g]->nodes[i]->op, op)) return true;
  return false;
}

// Names as globs that match nothing else.
static const char *escape(dp_arena *arena, const char *name) {
  char *glob = dp_alloc(arena, 2 * strlen(name) + 1), *at = glob;
  for (; *name; name++) {
    if (strchr("*?[\\", *name)) *at++ = '\\';
    *at++ = *name;
  }
  return glob;
}

// The options that the plan was made with, as far as its logical graphs depend on them.
static dp_status options_of(dp_arena *arena, const Dp__Plan *plan, const dp_model *model, dp_options *o) {
  bool trains = false, splits_parameters = false;
  const char **frozen = NULL;
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) trains |= !strcmp(plan->roles[0]->programs[p]->name, "train");
  *o =
      (dp_options){.batch = plan->batch, .strategy = *plan->strategy ? plan->strategy : NULL, .target = &dp_target_cpu};
  DP_TRY(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &o->mesh));
  const int data = dp_mesh_find(&o->mesh, "data");
  o->microbatches = dp_mesh_microbatches(&o->mesh);
  o->mode = trains ? "train" : "infer";
  o->precision = plan->precision == DP_FLOAT64 ? DP_FLOAT64 : DP_NO_TYPE;
  if (trains && *plan->loss) o->loss = plan->loss;
  if (trains && *plan->optimizer) o->optimizer = plan->optimizer;
  if (has_operator(plan, "GroupedBatchNormalization")) o->batchnorm = "local";
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    splits_parameters |= p->kind == DP_PARAMETER && data >= 0 && p->placements[data]->kind == DP_SHARD;
    int32_t of_model = dp_model_find_variable(model, p->name);
    if (!trains || !p->frozen || of_model < 0 || model->variables[of_model].kind != DP_PARAMETER) continue;
    const char *glob = escape(arena, p->name);
    DP_PUSH(arena, frozen, o->n_freeze, glob);
  }
  o->freeze = frozen;
  if (o->strategy && !strcmp(o->strategy, "zero")) o->zero_stage = splits_parameters ? 3 : 1;
  // Axis `micro` is not one to ask for.
  if (o->mesh.n_axes && dp_mesh_is_sequential(&o->mesh.axes[0]))
    memmove(&o->mesh.axes[0], &o->mesh.axes[1], (size_t)--o->mesh.n_axes * sizeof o->mesh.axes[0]);
  o->stop_after = "place";
  return DP_OK;
}

static dp_status hold_against(dp_arena *arena, const Dp__Plan *plan, const char *path) {
  dp_model *model;
  dp_options options;
  dp_against_report report;
  Dp__Plan *none;
  DP_TRY(dp_dpc_import_read(arena, path, &model));
  DP_TRY(options_of(arena, plan, model, &options));
  DP_TRY(dp_status_context(dp_pipeline_run(model, &options, &none), "%s, compiled as the plan was", path));
  DP_TRY(dp_status_context(dp_against_check(arena, plan, model, &report), "%s", path));
  printf(
      "the same as %s, with the plan's own loss, optimizer and precision: %d variables; in %d programs %d "
      "outputs and %d updates\n",
      path, report.variables, report.programs, report.outputs, report.updates);
  return DP_OK;
}

dp_status dp_dpc_verify_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"against", KEY_AGAINST, "MODEL", 0,
       "hold the plan's logical graphs and first values against those of MODEL, compiled as the plan says it was", 0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "PLAN",
      .doc =
          "Checks a plan: that it has no race, no deadlock and no overlap of what is needed together, and that it "
          "computes "
          "what its logical graph says. Prints what was proved, or the first rule that does not hold and exits 65.\v"
          "Examples:\n  dpc verify plan.bin\n  dpc verify plan.bin --against=model.onnx",
  };
  verify_options o = {0};
  DP_TRY(dp_cli_parse(&argp, argc, argv, &o));
  if (!o.path) return dp_fail(EX_USAGE, "no plan is given: dpc verify PLAN");
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(arena, o.path, &plan));
  dp_verify_report report = {0};
  dp_status status = dp_verify_plan(plan, &report);
  if (status) return dp_status_context(status, "%s", o.path);
  dp_verify_print(&report, stdout);
  print_programs(plan);
  return o.against ? dp_status_context(hold_against(arena, plan, o.against), "%s", o.path) : DP_OK;
}
