// See weights.h.
#include "tools/run/weights.h"

#include <math.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/file/safetensors.h"

static bool is_weight(const dp_variable *p) { return p->kind == DP_PARAMETER || p->kind == DP_BUFFER; }

// A tensor of the variable's type and shape, without data.
static dp_tensor tensor_of(const dp_variable *p) {
  dp_tensor t = {.dtype = p->type.dtype, .rank = p->type.shape.rank};
  dp_shape_at(&p->type.shape, 0, t.extents);
  t.bytes = (size_t)dp_shape_count(&p->type.shape, 0) * dp_type_bytes(t.dtype);
  return t;
}

// ---- loading --------------------------------------------------------------------------------------------------------

static dp_status check_extra(const dp_model *model, const dp_safetensors *file) {
  for (size_t i = 0; i < file->count; i++) {
    const char *name = file->tensors[i].name;
    if (!strncmp(name, "dp.", 3)) continue;
    dp_suggest suggest = dp_suggest_begin(name);
    bool known = false;
    for (int32_t k = 0; k < model->n_variables; k++) {
      if (!is_weight(&model->variables[k])) continue;
      known |= !strcmp(model->variables[k].name, name);
      dp_suggest_offer(&suggest, model->variables[k].name);
    }
    char hint[128];
    if (!known)
      return dp_fail(EX_DATAERR, "tensor '%s' is not a parameter or buffer of the model%s", name,
                     dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

// Converts the file's tensor for p to the plan's type.
static dp_status convert_tensor(dp_arena *arena, const dp_variable *p, const dp_safetensors *file, const void **data) {
  const dp_tensor wanted = tensor_of(p);
  const dp_safetensor *entry = dp_safetensors_find(file, p->name);
  if (!entry) return dp_fail(EX_DATAERR, "tensor '%s' of the model is missing", p->name);
  const dp_tensor *found = &entry->tensor;
  bool floats = (DP_BIT(found->dtype) & DP_FLOATS) && (DP_BIT(wanted.dtype) & DP_FLOATS);
  if (found->rank != wanted.rank ||
      memcmp(found->extents, wanted.extents, (size_t)wanted.rank * sizeof *wanted.extents) ||
      (found->dtype != wanted.dtype && !floats)) {
    char a[256], b[256];
    dp_type in_file = {found->dtype, dp_tensor_shape(found)}, in_plan = {wanted.dtype, dp_tensor_shape(&wanted)};
    return dp_fail(EX_DATAERR, "tensor '%s' is %s, but the model has %s", p->name, dp_type_print(&in_file, a, sizeof a),
                   dp_type_print(&in_plan, b, sizeof b));
  }
  char *raw = dp_alloc(arena, found->bytes), *converted = raw;
  DP_TRY(dp_safetensors_read(file, entry, raw));
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

static dp_status load(dp_arena *arena, dp_session *session, const dp_safetensors *file) {
  const dp_model *model = dp_session_model(session);
  const void **data = dp_alloc_n(arena, (size_t)model->n_variables, sizeof *data);
  DP_TRY(check_extra(model, file));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (is_weight(&model->variables[i])) DP_TRY(convert_tensor(arena, &model->variables[i], file, &data[i]));
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
    if (!is_weight(&model->variables[i])) continue;
    dp_safetensor item = {.name = model->variables[i].name, .tensor = tensor_of(&model->variables[i])};
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
