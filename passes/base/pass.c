// See pass.h.
#include "passes/base/pass.h"

#include <stdarg.h>
#include <string.h>

const dp_split *dp_options_split(const dp_options *options, const char *input) {
  for (int i = 0; i < options->n_splits; i++)
    if (!options->splits[i].on && !strcmp(options->splits[i].input, input)) return &options->splits[i];
  return NULL;
}

bool dp_options_infers(const dp_options *options) { return options->mode && !strcmp(options->mode, "infer"); }

// Whether a list with commas has the name.
static bool lists(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
    if (strcspn(list, ",") == length && !strncmp(list, name, length)) return true;
  return false;
}

bool dp_options_give_gradients(const dp_options *options) { return lists(options->metrics, DP_METRIC_GRADIENTS); }

bool dp_options_offloads(const dp_options *options, const char *what) { return lists(options->offload, what); }

bool dp_options_fast_math(const dp_options *options, const char *what) { return lists(options->fast_math, what); }

dp_dtype dp_options_half(const dp_options *options) {
  const dp_dtype dtype = options->precision;
  return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16 ? dtype : DP_NO_TYPE;
}

void dp_pass_note(const dp_compile *compile, const char *format, ...) {
  if (!compile->options->notes_to) return;
  va_list args;
  va_start(args, format);
  vfprintf(compile->options->notes_to, format, args);
  va_end(args);
  fputc('\n', compile->options->notes_to);
}

dp_status dp_pass_each_graph(dp_compile *compile,
                             dp_status (*run)(dp_compile *compile, dp_graph *graph, dp_arena *scratch)) {
  dp_status status = DP_OK;
  for (int i = 0; i < compile->model->n_graphs && !status; i++) {
    dp_arena *scratch = dp_arena_create(0);
    if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
    status = run(compile, compile->model->graphs[i], scratch);
    dp_arena_destroy(scratch);
  }
  return status;
}

dp_graph *dp_pass_train(const dp_compile *compile) {
  const dp_model *model = compile->model;
  dp_graph *train = dp_model_find_graph(model, "train");
  for (int i = 0; i < model->n_graphs; i++) model->graphs[i]->unchanged = model->graphs[i] != train;
  return train;
}

int32_t dp_pass_parameter_of(const dp_model *model, int32_t variable) {
  const dp_variable *state = &model->variables[variable];
  const char *slash = state->kind == DP_STATE ? strchr(state->name, '/') : NULL;
  return slash ? dp_model_find_variable(model, slash + 1) : -1;
}
