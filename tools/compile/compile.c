// dpc compile: reads a model, runs the passes, checks the plan with the same checker as dprun, writes it.
#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/plan/form.h"
#include "ir/plan/plan.h"
#include "ir/text/text.h"
#include "ir/verify/verify.h"
#include "passes/fit.h"
#include "passes/pipeline.h"
#include "passes/report/why.h"
#include "tools/compile/dpc.h"
#include "tools/compile/options.h"

static uint64_t offloaded(const Dp__Plan *plan) {
  uint64_t most = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Arena *arena = dp_plan_form_arena(plan->roles[r], DP__SPACE__OFFLOAD);
    if (arena && arena->bytes > most) most = arena->bytes;
  }
  return most;
}

static void print_summary(const char *path, const Dp__Plan *plan) {
  fprintf(stderr, "%s: ", path);
  for (size_t i = 0; i < plan->n_mesh; i++)
    fprintf(stderr, "%s%s=%lld", i ? "," : "", plan->mesh[i]->name, (long long)plan->mesh[i]->size);
  size_t instructions = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Role *role = plan->roles[r];
    for (size_t p = 0; p < role->n_programs; p++)
      for (size_t s = 0; s < role->programs[p]->n_streams; s++)
        instructions += role->programs[p]->streams[s]->n_instructions;
  }
  dp_fit_bytes device = dp_fit_measure(plan);
  fprintf(stderr, ", batch %lld, %zu instructions, %.1f KiB per device, ", (long long)plan->batch, instructions,
          (double)(device.persistent + device.rest) / 1024);
  if (dp_fit_packed(plan)) fprintf(stderr, "%.1f of it packed weights, ", (double)dp_fit_packed(plan) / 1024);
  if (offloaded(plan)) fprintf(stderr, "%.1f on the host, ", (double)offloaded(plan) / 1024);
  fputs("checked\n", stderr);
}

static dp_status read_model(void *context, dp_arena *arena, dp_model **model) {
  const dp_dpc_options *o = context;
  return dp_dpc_import_read_asked(arena, o->model, &o->compile, model);
}

dp_status dp_dpc_compile_run(dp_arena *arena, int argc, char **argv) {
  dp_dpc_options options;
  DP_TRY(dp_dpc_options_parse(arena, argc, argv, &options));
  options.compile.notes_to = stderr;
  dp_model *model;
  DP_TRY(read_model(&options, arena, &model));
  DP_TRY(dp_dpc_check_files(arena, options.model, options.output));
  Dp__Plan *plan = NULL;
  const char *slash = strrchr(options.model, '/'), *name = slash ? slash + 1 : options.model;
  const dp_text_held held =
      dp_text_hold(model, dp_file_is_stream(options.model) ? NULL : name, "dpc compile --print-data");
  // A text does not record --dim, so it could not be read back beside a file that needs it.
  if (!options.print_data && !options.compile.n_dims) options.compile.print_held = &held;
  options.compile.frees_graphs = !options.compile.print_after;
  dp_status status = dp_pipeline_run(model, &options.compile, &plan);
  // Errors in the model name its file; errors in the options do not come from there.
  if (dp_status_code(status) == EX_DATAERR) return dp_status_context(status, "%s", options.model);
  DP_TRY(status);
  if (!plan) return DP_OK;
  dp_model_free_graphs(model);
  DP_TRY(dp_fit_check(arena, &options.compile, read_model, &options, &plan));
  status = dp_verify_plan(plan, NULL);
  if (status)
    return dp_fail(EX_SOFTWARE, "%s: the checker refuses the plan that dpc made, which is a bug in dpc: %s",
                   options.model, dp_status_message(status));
  DP_TRY(dp_plan_write(plan, options.output));
  if (options.compile.why) DP_TRY(dp_why_print(plan, options.compile.target, stdout));
  print_summary(options.output, plan);
  return DP_OK;
}
