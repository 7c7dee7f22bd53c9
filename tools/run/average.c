// See average.h.
#include "tools/run/average.h"

#include "tools/weights/match.h"

dp_status dp_dprun_averages_begin(dp_arena *arena, dp_session *session) {
  const dp_model *model = dp_session_model(session);
  size_t largest = 0;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const size_t bytes = dp_weights_tensor_of(&model->variables[i]).bytes;
    if (bytes > largest && dp_weights_average_of(arena, model, i) >= 0) largest = bytes;
  }
  void *data = largest ? dp_alloc(arena, largest) : NULL;
  for (int32_t i = 0; i < model->n_variables; i++) {
    const int32_t average = dp_weights_average_of(arena, model, i);
    if (average < 0) continue;
    DP_TRY(dp_session_variable_read(session, i, data));
    DP_TRY(dp_session_variable_write(session, average, data));
  }
  return DP_OK;
}
