// Runs the passes of list.h in their order. See pipeline.h.
#include "passes/pipeline.h"

#include <string.h>

#include "ir/base/suggest.h"
#include "ir/text/text.h"
#include "passes/network.h"
#include "passes/options_record.h"
#include "passes/strategy/table.h"

#define DP_PASS(name) extern const dp_pass dp_pass_##name;
#include "passes/list.h"
#undef DP_PASS

#define DP_PASS(name) &dp_pass_##name,
static const dp_pass *const passes[] = {
#include "passes/list.h"
    NULL,
};
#undef DP_PASS

const dp_pass *const *dp_pipeline_passes(void) { return passes; }

const dp_pass *dp_pipeline_find(const char *name) {
  for (const dp_pass *const *p = passes; *p; p++)
    if (!strcmp((*p)->name, name)) return *p;
  return NULL;
}

dp_status dp_pipeline_run_pass(dp_compile *compile, const dp_pass *pass) {
  if (pass->needs & ~compile->has)
    return dp_fail(EX_SOFTWARE, "pass '%s' is out of order: it lacks %#x of what it needs", pass->name,
                   (unsigned)(pass->needs & ~compile->has));
  if (!compile->options->target) return dp_fail(EX_SOFTWARE, "no target to compile for was given");
  const dp_model *model = compile->model;
  compile->unchanged = false;
  for (int i = 0; i < model->n_graphs; i++) model->graphs[i]->unchanged = false;
  if (!compile->strategy) DP_TRY(dp_strategy_choose(compile->options, &compile->strategy));
  DP_TRY(pass->run(compile));
  compile->has |= pass->gives;
  if (compile->unchanged) return DP_OK;
  for (int i = 0; i < model->n_graphs; i++) {
    if (model->graphs[i]->unchanged) continue;
    dp_status status = dp_graph_verify(model->graphs[i]);
    if (!status) continue;
    dp_status ours = dp_fail(EX_SOFTWARE, "pass '%s' left graph '%s' in a bad state: %s", pass->name,
                             model->graphs[i]->name, dp_status_message(status));
    dp_status_free(status);
    return ours;
  }
  return DP_OK;
}

// Refuses an unknown pass name.
static dp_status check_name(dp_arena *arena, const char *option, const char *name, bool all) {
  if (!name || (all && !strcmp(name, "all")) || dp_pipeline_find(name)) return DP_OK;
  dp_suggest suggest = dp_suggest_begin(name);
  for (const dp_pass *const *p = passes; *p; p++) dp_suggest_offer(&suggest, (*p)->name);
  char hint[96];
  const char *names = all ? "all" : "";
  for (const dp_pass *const *p = passes; *p; p++)
    names = dp_printf(arena, "%s%s%s", names, *names ? ", " : "", (*p)->name);
  return dp_fail(EX_USAGE, "%s=%s: there is no such pass; choose one of %s%s", option, name, names,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

static bool names_pass(const char *asked, const char *name) {
  return asked && (!strcmp(asked, name) || !strcmp(asked, "all"));
}

typedef struct {
  dp_compile compile;
} run;

static dp_status run_all(void *arg) {
  dp_compile *compile = &((run *)arg)->compile;
  const dp_options *options = compile->options;
  const uint64_t network = dp_network_hash(compile->model);
  FILE *out = options->print_to ? options->print_to : stdout;
  for (const dp_pass *const *p = passes; *p; p++) {
    DP_TRY(dp_pipeline_run_pass(compile, *p));
    if (names_pass(options->print_after, (*p)->name)) {
      fprintf(out, "// after %s\n", (*p)->name);
      if (options->print_held)
        dp_text_print_elided(compile->model, options->print_held, out);
      else
        dp_text_print(compile->model, out);
    }
    if (options->stop_after && !strcmp(options->stop_after, (*p)->name)) break;
  }
  Dp__Options *record = dp_options_record(compile);
  if (compile->plan) {
    compile->plan->options = record;
    compile->plan->network = network;
  }
  if (options->record) *options->record = record;
  return DP_OK;
}

dp_status dp_pipeline_run(dp_model *model, const dp_options *options, Dp__Plan **plan) {
  DP_TRY(check_name(model->arena, "--print-after", options->print_after, true));
  DP_TRY(check_name(model->arena, "--stop-after", options->stop_after, false));
  run r = {.compile = {.model = model, .options = options}};
  DP_TRY(dp_arena_run(model->arena, run_all, &r));
  *plan = options->stop_after ? NULL : r.compile.plan;
  return DP_OK;
}
