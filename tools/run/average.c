// See average.h.
#include "tools/run/average.h"

#include <string.h>

#include "tools/run/match.h"

static const char prefix[] = "dp.ema/";

bool dp_dprun_is_average(const dp_variable *p) {
  return p->kind == DP_STATE && !strncmp(p->name, prefix, sizeof prefix - 1);
}

int32_t dp_dprun_average_of(dp_arena *arena, const dp_model *model, int32_t variable) {
  const dp_variable *p = &model->variables[variable];
  if (p->kind != DP_PARAMETER) return -1;
  return dp_model_find_variable(model, dp_printf(arena, "%s%s", prefix, p->name));
}

dp_status dp_dprun_averages_begin(dp_arena *arena, dp_session *session) {
  const dp_model *model = dp_session_model(session);
  size_t largest = 0;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const size_t bytes = dp_dprun_tensor_of(&model->variables[i]).bytes;
    if (bytes > largest && dp_dprun_average_of(arena, model, i) >= 0) largest = bytes;
  }
  void *data = largest ? dp_alloc(arena, largest) : NULL;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const int32_t average = dp_dprun_average_of(arena, model, i);
    if (average < 0) continue;
    DP_TRY(dp_session_variable_read(session, i, data));
    DP_TRY(dp_session_variable_write(session, average, data));
  }
  return DP_OK;
}
