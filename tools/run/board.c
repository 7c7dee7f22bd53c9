// See board.h.
#include "tools/run/board.h"

#include <stdlib.h>

#include "ir/plan/options.h"
#include "tools/weights/match.h"

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

// What is drawn: "parameters", "gradients"; and where it says how many numbers were left out.
typedef struct {
  const char *of, *not_finite;
} subject;

static dp_status put_histogram(dp_tensorboard *board, int64_t step, const subject *s, const dp_variable *v,
                               const void *data) {
  const size_t size = dp_type_bytes(v->type->dtype), count = dp_weights_tensor_of(v).bytes / size;
  char tag[256];
  double *numbers = calloc(count + 1, sizeof *numbers);
  dp_histogram histogram;
  size_t left_out;
  if (!numbers) return dp_fail(DP_EX_MEMORY, "no memory for a histogram of '%s'", v->name);
  for (size_t i = 0; i < count; i++) numbers[i] = dp_element_get(v->type->dtype, (const char *)data + i * size);
  dp_histogram_make(numbers, count, &histogram, &left_out);
  free(numbers);
  snprintf(tag, sizeof tag, "%s/%s", s->of, v->name);
  dp_tensorboard_histogram(board, step, tag, &histogram);
  snprintf(tag, sizeof tag, "%s/%s", s->not_finite, v->name);
  if (left_out) dp_tensorboard_scalar(board, step, tag, (double)left_out);
  return DP_OK;
}

static dp_status put_parameter(dp_tensorboard *board, int64_t step, dp_session *session, int32_t variable) {
  static const subject parameters = {"parameters", "not_finite"};
  const dp_variable *v = &dp_session_model(session)->variables[variable];
  void *data = malloc(dp_weights_tensor_of(v).bytes + 1);
  if (!data) return dp_fail(DP_EX_MEMORY, "no memory for a histogram of '%s'", v->name);
  dp_status status = dp_session_variable_read(session, variable, data);
  if (!status) status = put_histogram(board, step, &parameters, v, data);
  free(data);
  return status;
}

// That of the last step, if the plan gives it.
static dp_status put_gradient(dp_tensorboard *board, int64_t step, dp_session *session, int program,
                              const dp_variable *v) {
  static const subject gradients = {"gradients", "not_finite_gradients"};
  char name[256];
  dp_type type;
  snprintf(name, sizeof name, "gradient/%s", v->name);
  const void *data = dp_session_output(session, program, name, &type);
  const bool fits = data && type.dtype == v->type->dtype && dp_shape_equal(&type.shape, &v->type->shape);
  return fits ? put_histogram(board, step, &gradients, v, data) : DP_OK;
}

dp_status dp_dprun_board_histograms(dp_tensorboard *board, int64_t step, dp_session *session, int program) {
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    const dp_variable *v = &model->variables[i];
    if (v->kind != DP_PARAMETER || !dp_type_is_float(v->type->dtype)) continue;
    DP_TRY(put_parameter(board, step, session, i));
    DP_TRY(put_gradient(board, step, session, program, v));
  }
  return DP_OK;
}
