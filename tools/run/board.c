// See board.h.
#include "tools/run/board.h"

#include <stdlib.h>

#include "ir/plan/options.h"
#include "tools/run/match.h"

// In Markdown, a line that is set in by four spaces is shown as it is.
static void put_words(FILE *out, int argc, char **argv) {
  fputs("    ", out);
  for (int i = 0; i < argc; i++) fprintf(out, "%s%s", i ? " " : "", argv[i]);
  fputs("\n", out);
}

void dp_dprun_board_options(dp_arena *arena, dp_tensorboard *board, const Dp__Plan *plan, int argc, char **argv) {
  char *text = NULL;
  size_t bytes;
  if (!board->file) return;
  FILE *out = open_memstream(&text, &bytes);
  if (out) {
    put_words(out, argc, argv);
    if (plan->options) {
      fputs("\nThe plan was compiled with\n\n    dpc compile", out);
      dp_plan_options_print(arena, plan->options, false, NULL, out);
      fputs("\n\nand by default\n\n   ", out);
      dp_plan_options_print(arena, plan->options, true, NULL, out);
      fputs("\n", out);
    }
    fclose(out);
    dp_tensorboard_text(board, 0, "options/text_summary", text);
  }
  free(text);
}

static void put_measured(dp_tensorboard *board, const char *of, const dp_metrics_measured *m) {
  char tag[64];
  snprintf(tag, sizeof tag, "%s/loss", of);
  dp_tensorboard_scalar(board, m->step, tag, m->loss);
  for (int i = 0; i < m->n_numbers; i++) {
    snprintf(tag, sizeof tag, "%s/%s", of, m->numbers[i].name);
    dp_tensorboard_scalar(board, m->step, tag, m->numbers[i].number);
  }
}

void dp_dprun_board_step(dp_tensorboard *board, const dp_metrics_measured *m, double lr, double ms) {
  put_measured(board, "train", m);
  dp_tensorboard_scalar(board, m->step, "train/learning_rate", lr);
  if (ms > 0) dp_tensorboard_scalar(board, m->step, "train/samples_per_second", (double)m->samples / ms * 1e3);
}

void dp_dprun_board_eval(dp_tensorboard *board, const dp_metrics_measured *m) { put_measured(board, "eval", m); }

// ---- histograms -----------------------------------------------------------------------------------------------------

static dp_status put_histogram(dp_tensorboard *board, int64_t step, dp_session *session, int32_t variable) {
  const dp_variable *v = &dp_session_model(session)->variables[variable];
  const dp_tensor tensor = dp_dprun_tensor_of(v);
  const size_t size = dp_type_bytes(v->type.dtype), count = tensor.bytes / size;
  char *data = malloc(tensor.bytes + 1), tag[256];
  double *numbers = calloc(count + 1, sizeof *numbers);
  dp_status status = data && numbers ? dp_session_variable_read(session, variable, data)
                                     : dp_fail(DP_EX_MEMORY, "no memory for a histogram of '%s'", v->name);
  if (!status) {
    dp_histogram histogram;
    size_t left_out;
    for (size_t i = 0; i < count; i++) numbers[i] = dp_element_get(v->type.dtype, data + i * size);
    dp_histogram_make(numbers, count, &histogram, &left_out);
    snprintf(tag, sizeof tag, "parameters/%s", v->name);
    dp_tensorboard_histogram(board, step, tag, &histogram);
    if (left_out) {
      snprintf(tag, sizeof tag, "not_finite/%s", v->name);
      dp_tensorboard_scalar(board, step, tag, (double)left_out);
    }
  }
  free(numbers);
  free(data);
  return status;
}

dp_status dp_dprun_board_histograms(dp_tensorboard *board, int64_t step, dp_session *session) {
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++)
    if (model->variables[i].kind == DP_PARAMETER && dp_type_is_float(model->variables[i].type.dtype))
      DP_TRY(put_histogram(board, step, session, i));
  return DP_OK;
}
