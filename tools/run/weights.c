// See weights.h.
#include "tools/run/weights.h"

#include "tools/run/average.h"
#include "tools/weights/match.h"

static dp_status gather(dp_arena *arena, dp_session *session, dp_safetensor **tensors, size_t *count) {
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    if (!dp_weights_is_weight(&model->variables[i])) continue;
    dp_safetensor item = {.name = model->variables[i].name, .tensor = dp_weights_tensor_of(&model->variables[i])};
    void *data = dp_alloc(arena, item.tensor.bytes);
    const int32_t average = dp_weights_average_of(arena, model, i);
    DP_TRY(dp_session_variable_read(session, average < 0 ? i : average, data));
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
