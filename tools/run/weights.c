// See weights.h.
#include "tools/run/weights.h"

#include <math.h>
#include <string.h>

#include "tools/run/match.h"

// ---- loading --------------------------------------------------------------------------------------------------------

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

// All tensors but those of an optimizer's state.
static dp_dprun_source *list_sources(dp_arena *arena, const dp_safetensors *file, size_t *count) {
  dp_dprun_source *sources = NULL;
  for (size_t i = 0; i < file->count; i++) {
    const dp_dprun_source source = {file->tensors[i].name, file, &file->tensors[i]};
    if (strncmp(source.name, "dp.", 3)) DP_PUSH(arena, sources, *count, source);
  }
  return sources;
}

static dp_status load(dp_arena *arena, dp_session *session, const dp_safetensors *file) {
  const dp_model *model = dp_session_model(session);
  const dp_dprun_matching matching = {.wanted = dp_dprun_is_weight, .convert = true};
  const void **data = dp_alloc_n(arena, (size_t)model->n_variables, sizeof *data);
  const dp_dprun_source **found;
  const char *left_out;
  size_t count = 0;
  const dp_dprun_source *sources = list_sources(arena, file, &count);
  DP_TRY(dp_dprun_match(arena, model, sources, count, &matching, &found, &left_out));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (found[i]) DP_TRY(convert_tensor(arena, &model->variables[i], found[i], &data[i]));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (data[i]) DP_TRY(dp_session_variable_write(session, i, data[i]));
  return DP_OK;
}

dp_status dp_dprun_weights_load(dp_arena *arena, dp_session *session, const char *path) {
  dp_safetensors file;
  DP_TRY(dp_safetensors_open(arena, path, &file));
  dp_status status = load(arena, session, &file);
  dp_safetensors_close(&file);
  return status ? dp_status_context(status, "%s", path) : DP_OK;
}

// ---- saving ---------------------------------------------------------------------------------------------------------

static dp_status gather(dp_arena *arena, dp_session *session, dp_safetensor **tensors, size_t *count) {
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    if (!dp_dprun_is_weight(&model->variables[i])) continue;
    dp_safetensor item = {.name = model->variables[i].name, .tensor = dp_dprun_tensor_of(&model->variables[i])};
    void *data = dp_alloc(arena, item.tensor.bytes);
    DP_TRY(dp_session_variable_read(session, i, data));
    item.tensor.data = data;
    DP_PUSH(arena, *tensors, *count, item);
  }
  return DP_OK;
}

typedef struct {
  dp_arena *arena;
  dp_session *session;
  const char *path;
} saving;

static dp_status save(void *arg) {
  saving *s = arg;
  dp_safetensor *tensors = NULL;
  size_t count = 0;
  DP_TRY(gather(s->arena, s->session, &tensors, &count));
  return dp_safetensors_write(s->path, tensors, count);
}

dp_status dp_dprun_weights_save(dp_session *session, const char *path) {
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_fail(DP_EX_MEMORY, "%s: out of memory", path);
  dp_status status = dp_arena_run(arena, save, &(saving){arena, session, path});
  dp_arena_destroy(arena);
  return status;
}
