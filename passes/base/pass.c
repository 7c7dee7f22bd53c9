// See pass.h.
#include "passes/base/pass.h"

#include <stdarg.h>
#include <string.h>

const dp_split *dp_options_split(const dp_options *options, const char *input) {
  for (int i = 0; i < options->n_splits; i++)
    if (!strcmp(options->splits[i].input, input)) return &options->splits[i];
  return NULL;
}

bool dp_options_infers(const dp_options *options) { return options->mode && !strcmp(options->mode, "infer"); }

void dp_pass_note(const dp_compile *compile, const char *format, ...) {
  if (!compile->options->notes_to) return;
  va_list args;
  va_start(args, format);
  vfprintf(compile->options->notes_to, format, args);
  va_end(args);
  fputc('\n', compile->options->notes_to);
}

bool dp_strategy_is(const dp_options *o, const char *name) { return o->strategy && !strcmp(o->strategy, name); }

bool dp_strategy_gathers_again(const dp_options *o) { return dp_strategy_is(o, "zero") && o->zero_stage == 3; }

const char *dp_strategy_name(const dp_options *o) {
  static const struct {
    const char *axis, *strategy;
  } table[] = {{"data", "data"}, {DP_MESH_PIPE, "pipeline"}, {"tensor", "tensor"}};
  if (o->strategy) return o->strategy;
  for (size_t i = 0; i < DP_COUNT(table) && dp_mesh_devices(&o->mesh) > 1; i++)
    if (dp_mesh_find(&o->mesh, table[i].axis) >= 0) return table[i].strategy;
  return "single";
}
