// See init.h.
#include "tools/run/init.h"

#include <math.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/file/shards.h"
#include "tools/run/average.h"
#include "tools/run/match.h"

// ---- names ----------------------------------------------------------------------------------------------------------

// The tensors under the names that they have in the model.
typedef struct {
  dp_arena *arena;
  const dp_dprun_init *init;
  dp_dprun_source *sources;
  size_t count;
  bool stripped;  // the prefix was found
  bool *renamed;  // (n_renames) it was found
} naming;

static const char *name_in_model(naming *n, const char *name) {
  const dp_dprun_init *init = n->init;
  const size_t length = init->prefix ? strlen(init->prefix) : 0;
  for (int i = 0; i < init->n_renames; i++)
    if (!strcmp(init->renames[i].name, name)) {
      n->renamed[i] = true;
      return init->renames[i].file;
    }
  if (!length || strncmp(name, init->prefix, length)) return name;
  n->stripped = true;
  return name + length;
}

// All tensors but those of an optimizer's state.
static void add_file(naming *n, const dp_safetensors *file) {
  for (size_t i = 0; i < file->count; i++) {
    if (!strncmp(file->tensors[i].name, "dp.", 3)) continue;
    const dp_dprun_source source = {name_in_model(n, file->tensors[i].name), file, &file->tensors[i]};
    DP_PUSH(n->arena, n->sources, n->count, source);
  }
}

// What was to be renamed, and is not there, was probably mistyped.
static dp_status check_names(const naming *n, const dp_shards *shards) {
  const dp_dprun_init *init = n->init;
  if (init->prefix && !n->stripped)
    return dp_fail(EX_DATAERR, "--init-prefix=%s: no tensor has a name that begins so", init->prefix);
  for (int i = 0; i < init->n_renames; i++) {
    if (n->renamed[i]) continue;
    dp_suggest suggest = dp_suggest_begin(init->renames[i].name);
    for (int f = 0; f < shards->count; f++)
      for (size_t t = 0; t < shards->files[f].count; t++) dp_suggest_offer(&suggest, shards->files[f].tensors[t].name);
    char hint[128];
    return dp_fail(EX_DATAERR, "--init-map %s=%s: there is no such tensor%s", init->renames[i].name,
                   init->renames[i].file, dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

// ---- data -----------------------------------------------------------------------------------------------------------

// Converts the source to the plan's type.
static dp_status convert_tensor(dp_arena *arena, const dp_variable *p, const dp_dprun_source *source,
                                const void **data) {
  const dp_tensor wanted = dp_dprun_tensor_of(p), *found = &source->entry->tensor;
  char *raw = dp_alloc(arena, found->bytes), *converted = raw;
  DP_TRY(dp_safetensors_read(source->file, source->entry, raw));
  if (found->dtype != wanted.dtype) {
    size_t from = dp_type_bytes(found->dtype), to = dp_type_bytes(wanted.dtype);
    converted = dp_alloc(arena, wanted.bytes);
    for (size_t i = 0; i < wanted.bytes / to; i++) {
      double x = dp_element_get(found->dtype, raw + i * from);
      dp_element_set(wanted.dtype, converted + i * to, x);
      if (isfinite(x) && !isfinite(dp_element_get(wanted.dtype, converted + i * to)))
        return dp_fail(EX_DATAERR, "tensor '%s': element %zu, %.9g, is beyond the range of the plan's %s", p->name, i,
                       x, dp_type_name(wanted.dtype));
    }
  }
  *data = converted;
  return DP_OK;
}

// A checkpoint has the averages of parameters too, for a plan that averages. data: (variables)
static dp_status find_averages(dp_arena *arena, const dp_model *model, const dp_shards *shards, const void **data) {
  for (int f = 0; f < shards->count; f++)
    for (size_t t = 0; t < shards->files[f].count; t++) {
      const dp_dprun_source source = {shards->files[f].tensors[t].name, &shards->files[f],
                                      &shards->files[f].tensors[t]};
      const int32_t i = dp_model_find_variable(model, source.name);
      if (i < 0 || !dp_dprun_is_average(&model->variables[i])) continue;
      const dp_tensor wanted = dp_dprun_tensor_of(&model->variables[i]), *found = &source.entry->tensor;
      if (!dp_type_is_float(found->dtype) || found->rank != wanted.rank ||
          memcmp(found->extents, wanted.extents, (size_t)found->rank * sizeof *found->extents) != 0)
        return dp_fail(EX_DATAERR, "tensor '%s' has another shape or type than the model's", source.name);
      DP_TRY(convert_tensor(arena, &model->variables[i], &source, &data[i]));
    }
  return DP_OK;
}

static dp_status load(dp_arena *arena, dp_session *session, const dp_dprun_init *init, const dp_shards *shards,
                      const char **left_out) {
  const dp_model *model = dp_session_model(session);
  const dp_dprun_matching matching = {.wanted = dp_dprun_is_weight, .convert = true, .partial = init->partial};
  naming n = {arena, init, .renamed = dp_alloc_n(arena, (size_t)init->n_renames, sizeof *n.renamed)};
  const void **data = dp_alloc_n(arena, (size_t)model->n_variables, sizeof *data);
  const dp_dprun_source **found;
  int loaded = 0;
  for (int i = 0; i < shards->count; i++) add_file(&n, &shards->files[i]);
  DP_TRY(check_names(&n, shards));
  DP_TRY(dp_dprun_match(arena, model, n.sources, n.count, &matching, &found, left_out));
  for (int32_t i = 0; i < model->n_variables; i++) {
    if (!found[i]) continue;
    DP_TRY(convert_tensor(arena, &model->variables[i], found[i], &data[i]));
    loaded++;
  }
  if (!loaded && *left_out) return dp_fail(EX_DATAERR, "none of its tensors fits the model%s", *left_out);
  DP_TRY(find_averages(arena, model, shards, data));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (data[i] && found[i]) DP_TRY(dp_session_variable_write(session, i, data[i]));
  DP_TRY(dp_dprun_averages_begin(arena, session));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (data[i] && !found[i]) DP_TRY(dp_session_variable_write(session, i, data[i]));
  return DP_OK;
}

// The files that an index names are known only now.
static dp_status check_files(const dp_dprun_init *init, const dp_shards *shards) {
  for (int i = 0; i < shards->count; i++) {
    const dp_cli_file files[] = {{"--init", shards->files[i].reader.path, false}, {"--save", init->written, true}};
    DP_TRY(dp_cli_files_check(files, DP_COUNT(files)));
  }
  return DP_OK;
}

dp_status dp_dprun_init_load(dp_arena *arena, dp_session *session, const dp_dprun_init *init, const char **left_out) {
  dp_shards shards;
  DP_TRY(dp_shards_open(arena, init->path, &shards));
  dp_status status = check_files(init, &shards);
  if (!status) status = load(arena, session, init, &shards, left_out);
  dp_shards_close(&shards);
  return dp_status_context(status, "%s", init->path);
}
