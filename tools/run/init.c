// See init.h.
#include "tools/run/init.h"

#include "tools/run/average.h"
#include "tools/weights/match.h"

// The averages where the plan averages; and where it does not but infers, in the place of the parameters.
static dp_status write_averages(dp_arena *arena, dp_session *session, const dp_weights *w, bool infer) {
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    const int32_t average = dp_weights_average_of(arena, model, i);
    if (!w->averages[i] || (average < 0 && !infer)) continue;
    DP_TRY(dp_session_variable_write(session, average < 0 ? i : average, w->averages[i]));
  }
  return DP_OK;
}

dp_status dp_dprun_init_load(dp_arena *arena, dp_session *session, const dp_weights_options *options, const char *save,
                             bool infer, dp_weights *weights) {
  const dp_cli_file written = {"--save", save, true};
  DP_TRY(dp_weights_load(arena, dp_session_model(session), options, &written, 1, weights));
  for (int32_t i = 0; i < dp_session_model(session)->n_variables; i++)
    if (weights->data[i]) DP_TRY(dp_session_variable_write(session, i, weights->data[i]));
  DP_TRY(dp_dprun_averages_begin(arena, session));
  return write_averages(arena, session, weights, infer);
}
