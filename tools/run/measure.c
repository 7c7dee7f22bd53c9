// See measure.h.
#include "tools/run/measure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// How a value comes from what the program gives.
typedef enum { MEAN, COUNT, EXP_OF_LOSS } kind;

static const struct {
  const char *name, *output;
  kind kind;
  bool higher_is_better;
} measures[DP_MEASURES] = {
    [DP_MEASURE_LOSS] = {"loss", "loss", MEAN, false},
    [DP_MEASURE_ACCURACY] = {"accuracy", "correct", COUNT, true},
    [DP_MEASURE_TOP5] = {"top5", "top5", COUNT, true},
    [DP_MEASURE_PERPLEXITY] = {"perplexity", NULL, EXP_OF_LOSS, false},
    [DP_MEASURE_MSE] = {"mse", "mse", MEAN, false},
    [DP_MEASURE_MAE] = {"mae", "mae", MEAN, false},
};

const char *dp_measure_name(dp_measure measure) { return measures[measure].name; }

dp_measure dp_measure_find(const char *name) {
  int at = 0;
  while (at < DP_MEASURES && strcmp(measures[at].name, name)) at++;
  return (dp_measure)at;
}

bool dp_measure_is_better(dp_measure measure, double a, double b) {
  if (isnan(a) || isnan(b)) return !isnan(a);
  return measures[measure].higher_is_better ? a > b : a < b;
}

const char *dp_measure_print(dp_measure measure, double value, char text[32]) {
  if (measures[measure].kind == COUNT)
    snprintf(text, 32, "%.1f %%", 100 * value);
  else
    snprintf(text, 32, "%.4g", value);
  return text;
}

// ---- tallies --------------------------------------------------------------------------------------------------------

void dp_tally_open(dp_arena *arena, dp_session *session, int program, bool has_classes, dp_tally *tally) {
  dp_tally t = {.session = session, .program = program, .loss = dp_loss_mean_open(arena, session, program)};
  dp_type type;
  const bool one_mean = !t.loss.n_terms;  // the exponential of anything else says nothing
  for (int m = 0; m < DP_MEASURES; m++)
    t.gives[m] = measures[m].output ? dp_session_output(session, program, measures[m].output, NULL) != NULL
                                    : has_classes && one_mean;
  if (dp_session_output(session, program, "confusion", &type)) {
    t.classes = type.shape.dims[0].offset;
    t.confusion = dp_alloc_n(arena, (size_t)(t.classes * t.classes), sizeof *t.confusion);
  }
  *tally = t;
}

void dp_tally_reset(dp_tally *t) {
  memset(t->sums, 0, sizeof t->sums);
  dp_loss_mean_reset(&t->loss);
  t->labels = t->samples = 0;
  if (t->confusion) memset(t->confusion, 0, (size_t)(t->classes * t->classes) * sizeof *t->confusion);
}

static void add_confusion(dp_tally *t) {
  const int64_t *counts = dp_session_output(t->session, t->program, "confusion", NULL);
  for (int64_t i = 0; i < t->classes * t->classes; i++) t->confusion[i] += counts[i];
}

void dp_tally_add(dp_tally *t, int64_t n) {
  const int64_t labels = (int64_t)dp_session_number(t->session, t->program, "count");
  t->samples += n;
  dp_loss_mean_add(&t->loss);
  if (!labels) return;
  t->labels += labels;
  for (int m = DP_MEASURE_LOSS + 1; m < DP_MEASURES; m++) {
    if (!t->gives[m] || !measures[m].output) continue;
    const double given = dp_session_number(t->session, t->program, measures[m].output);
    t->sums[m] += measures[m].kind == MEAN ? given * (double)labels : given;
  }
  if (t->confusion) add_confusion(t);
}

double dp_tally_value(const dp_tally *t, dp_measure measure) {
  if (measure == DP_MEASURE_LOSS) return dp_loss_mean_value(&t->loss);
  if (!t->gives[measure] || !t->labels) return NAN;
  const double value =
      measures[measure].kind == EXP_OF_LOSS ? exp(dp_loss_mean_value(&t->loss)) : t->sums[measure] / (double)t->labels;
  return isnan(value) ? NAN : value;
}

const char *dp_tally_remark(const dp_tally *t) {
  return t->samples && dp_loss_mean_lacks_labels(&t->loss) ? "no label counted" : NULL;
}

int dp_tally_numbers(const dp_tally *t, dp_metrics_number numbers[DP_MEASURES]) {
  int n = 0;
  for (int m = DP_MEASURE_LOSS + 1; m < DP_MEASURES; m++)
    if (t->gives[m]) numbers[n++] = (dp_metrics_number){measures[m].name, dp_tally_value(t, (dp_measure)m)};
  return n;
}

// ---- classes --------------------------------------------------------------------------------------------------------

enum { MATRIX_CLASSES = 16 };  // that fit a line

static void print_share(FILE *out, int64_t part, int64_t whole) {
  if (whole)
    fprintf(out, "  %7.1f %%", 100 * (double)part / (double)whole);
  else
    fprintf(out, "  %9s", "-");
}

void dp_tally_print_classes(const dp_tally *t, FILE *out) {
  const int64_t classes = t->classes;
  if (!classes) return;
  fprintf(out, "class    labels  predicted     recall  precision%s\n",
          classes <= MATRIX_CLASSES ? "  labels of the class that were predicted as 0, 1, ..." : "");
  for (int64_t c = 0; c < classes; c++) {
    int64_t labels = 0, predicted = 0;
    const int64_t *row = t->confusion + c * classes;
    for (int64_t k = 0; k < classes; k++) {
      labels += row[k];
      predicted += t->confusion[k * classes + c];
    }
    fprintf(out, "%5" PRId64 "  %8" PRId64 "  %9" PRId64, c, labels, predicted);
    print_share(out, row[c], labels);
    print_share(out, row[c], predicted);
    for (int64_t k = 0; k < classes && classes <= MATRIX_CLASSES; k++) fprintf(out, " %5" PRId64, row[k]);
    fputc('\n', out);
  }
}
