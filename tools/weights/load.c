// See load.h.
#include "tools/weights/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/file/shards.h"
#include "tools/weights/match.h"
#include "tools/weights/newest.h"

// What is being loaded.
typedef struct {
  dp_arena *arena;
  const dp_model *model;
  const dp_weights_options *options;
  dp_shards shards;
  dp_weights *weights;
} loading;

// ---- names ----------------------------------------------------------------------------------------------------------

// The tensors under the names that they have in the model.
typedef struct {
  dp_weights_source *sources;
  size_t count;
  bool stripped;  // the prefix was found
  bool *renamed;  // (n_renames) it was found
} naming;

static const char *name_in_model(const dp_weights_options *o, naming *n, const char *name) {
  const size_t length = o->prefix ? strlen(o->prefix) : 0;
  for (int i = 0; i < o->n_renames; i++)
    if (!strcmp(o->renames[i].name, name)) {
      n->renamed[i] = true;
      return o->renames[i].file;
    }
  if (!length || strncmp(name, o->prefix, length)) return name;
  n->stripped = true;
  return name + length;
}

// The weights, without what an optimizer has of its own; or the averages of parameters, under the parameters' names.
static void add_sources(const loading *l, naming *n, bool averages) {
  for (int f = 0; f < l->shards.count; f++)
    for (size_t t = 0; t < l->shards.files[f].count; t++) {
      const dp_safetensors *file = &l->shards.files[f];
      const char *name = file->tensors[t].name;
      if (averages != dp_weights_is_average(name) || (!averages && !strncmp(name, "dp.", 3))) continue;
      if (averages) name += strlen(DP_WEIGHTS_AVERAGE);
      const dp_weights_source source = {name_in_model(l->options, n, name), file, &file->tensors[t]};
      DP_PUSH(l->arena, n->sources, n->count, source);
    }
}

// What was to be renamed, and is not there, was probably mistyped.
static dp_status check_names(const loading *l, const naming *n) {
  const dp_weights_options *o = l->options;
  if (o->prefix && !n->stripped)
    return dp_fail(EX_DATAERR, "--init-prefix=%s: no tensor has a name that begins so", o->prefix);
  for (int i = 0; i < o->n_renames; i++) {
    if (n->renamed[i]) continue;
    dp_suggest suggest = dp_suggest_begin(o->renames[i].name);
    for (int f = 0; f < l->shards.count; f++)
      for (size_t t = 0; t < l->shards.files[f].count; t++)
        dp_suggest_offer(&suggest, l->shards.files[f].tensors[t].name);
    char hint[128];
    return dp_fail(EX_DATAERR, "--init-map %s=%s: there is no such tensor%s", o->renames[i].name, o->renames[i].file,
                   dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

// ---- data -----------------------------------------------------------------------------------------------------------

// Converts the source to the variable's type.
static dp_status convert_tensor(dp_arena *arena, const dp_variable *p, const dp_weights_source *source,
                                const void **data) {
  const dp_tensor wanted = dp_weights_tensor_of(p), *found = &source->entry->tensor;
  char *raw = dp_alloc(arena, found->bytes), *converted = raw;
  DP_TRY(dp_safetensors_read(source->file, source->entry, raw));
  if (found->dtype != wanted.dtype) {
    size_t from = dp_type_bytes(found->dtype), to = dp_type_bytes(wanted.dtype);
    converted = dp_alloc(arena, wanted.bytes);
    for (size_t i = 0; i < wanted.bytes / to; i++) {
      double x = dp_element_get(found->dtype, raw + i * from);
      dp_element_set(wanted.dtype, converted + i * to, x);
      if (isfinite(x) && !isfinite(dp_element_get(wanted.dtype, converted + i * to)))
        return dp_fail(EX_DATAERR, "tensor '%s': element %zu, %.9g, is beyond the range of the model's %s", p->name, i,
                       x, dp_type_name(wanted.dtype));
    }
  }
  *data = converted;
  return DP_OK;
}

// The averages of the parameters that are loaded. data: (variables)
static dp_status load_averages(const loading *l, const naming *weights) {
  naming n = {.renamed = weights->renamed};
  add_sources(l, &n, true);
  for (size_t i = 0; i < n.count; i++) {
    const int32_t v = dp_model_find_variable(l->model, n.sources[i].name);
    if (v < 0 || !l->weights->data[v]) continue;
    const int32_t average = dp_weights_average_of(l->arena, l->model, v);
    const dp_variable *p = &l->model->variables[average < 0 ? v : average];
    const dp_tensor wanted = dp_weights_tensor_of(p);
    if (!dp_weights_fits(&n.sources[i].entry->tensor, &wanted, true))
      return dp_fail(EX_DATAERR, "tensor '%s' has another shape or type than the parameter '%s'",
                     n.sources[i].entry->name, l->model->variables[v].name);
    DP_TRY(convert_tensor(l->arena, p, &n.sources[i], &l->weights->averages[v]));
  }
  return DP_OK;
}

static dp_status load(const loading *l) {
  dp_weights *w = l->weights;
  const dp_weights_matching matching = {
      .wanted = dp_weights_is_weight, .convert = true, .partial = l->options->partial};
  const size_t n_variables = (size_t)l->model->n_variables;
  naming n = {.renamed = dp_alloc_n(l->arena, (size_t)l->options->n_renames, sizeof *n.renamed)};
  const dp_weights_source **found;
  int loaded = 0;
  w->data = dp_alloc_n(l->arena, n_variables, sizeof *w->data);
  w->averages = dp_alloc_n(l->arena, n_variables, sizeof *w->averages);
  add_sources(l, &n, false);
  DP_TRY(check_names(l, &n));
  DP_TRY(dp_weights_match(l->arena, l->model, n.sources, n.count, &matching, &found, &w->left_out));
  for (int32_t i = 0; i < l->model->n_variables; i++) {
    if (!found[i]) continue;
    DP_TRY(convert_tensor(l->arena, &l->model->variables[i], found[i], &w->data[i]));
    loaded++;
  }
  if (!loaded && w->left_out) return dp_fail(EX_DATAERR, "none of its tensors fits the model%s", w->left_out);
  return load_averages(l, &n);
}

// ---- files ----------------------------------------------------------------------------------------------------------

static dp_status open_files(loading *l) {
  dp_weights_checkpoint checkpoint;
  l->weights->path = l->options->path;
  if (!dp_weights_is_folder(l->options->path)) return dp_shards_open(l->arena, l->options->path, &l->shards);
  DP_TRY(dp_weights_checkpoint_find(l->arena, l->options->path, &checkpoint));
  l->weights->path = checkpoint.path;
  l->shards = (dp_shards){1, dp_memdup(l->arena, &checkpoint.file, sizeof checkpoint.file)};
  return DP_OK;
}

// The files that an index or a folder stands for are known only now.
static dp_status check_files(const loading *l, const dp_cli_file *written, int n_written) {
  for (int i = 0; i < l->shards.count; i++) {
    const dp_cli_file read = {"--init", l->shards.files[i].reader.path, false};
    DP_TRY(dp_cli_files_check_between(&read, 1, written, n_written));
  }
  return DP_OK;
}

dp_status dp_weights_load(dp_arena *arena, const dp_model *model, const dp_weights_options *options,
                          const dp_cli_file *written, int n_written, dp_weights *weights) {
  loading l = {.arena = arena, .model = model, .options = options, .weights = weights};
  DP_TRY(open_files(&l));
  dp_status status = check_files(&l, written, n_written);
  if (!status) status = load(&l);
  dp_shards_close(&l.shards);
  return dp_status_context(status, "%s", weights->path);
}

void dp_weights_note(const dp_weights_options *options, const dp_weights *weights) {
  if (weights->path != options->path) fprintf(stderr, "the weights are those of %s\n", weights->path);
  if (weights->left_out) fprintf(stderr, "%s: some of it is left out%s\n", weights->path, weights->left_out);
}
