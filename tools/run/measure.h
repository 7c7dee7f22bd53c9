// What is measured of a program's predictions: the loss and the metrics that the plan gives (dpc compile --metrics),
// summed over batches.
#ifndef DP_TOOLS_RUN_MEASURE_H
#define DP_TOOLS_RUN_MEASURE_H

#include "runtime/metrics.h"
#include "runtime/session.h"
#include "tools/run/loss_mean.h"

typedef enum {
  DP_MEASURE_LOSS,
  DP_MEASURE_ACCURACY,
  DP_MEASURE_TOP5,
  DP_MEASURE_PERPLEXITY,
  DP_MEASURE_MSE,
  DP_MEASURE_MAE,
  DP_MEASURES,
} dp_measure;

// "accuracy". The names are those of --best and of the fields in --metrics.
const char *dp_measure_name(dp_measure measure);
// The one of this name; DP_MEASURES: there is none.
dp_measure dp_measure_find(const char *name);
// Whether `a` is a better value than `b`. NaN is never better; anything else is better than NaN.
bool dp_measure_is_better(dp_measure measure, double a, double b);
// The value for people: "95.2 %", "1.234". Returns `text`.
const char *dp_measure_print(dp_measure measure, double value, char text[32]);

typedef struct {
  dp_session *session;
  int program;
  bool gives[DP_MEASURES];  // what the program gives, or what follows from that
  dp_loss_mean loss;
  int64_t classes;           // of the confusion matrix; 0: the program gives none
  double sums[DP_MEASURES];  // of counts, and of means times labels; not of the loss
  int64_t *confusion;        // (classes, classes) labels of a row's class that were predicted as a column's
  int64_t labels, samples;   // present, as the programs count them
} dp_tally;

// An empty tally of a program. has_classes: of the plan's loss. The matrix lives in the arena.
void dp_tally_open(dp_arena *arena, dp_session *session, int program, bool has_classes, dp_tally *tally);
// Empties it.
void dp_tally_reset(dp_tally *tally);
// Adds the results of the run for n samples that ended last. A mean over no labels is undefined and does not count.
void dp_tally_add(dp_tally *tally, int64_t n);
// The value over all that was added; NaN if there were no labels, or the program does not give it.
double dp_tally_value(const dp_tally *tally, dp_measure measure);
// Why the loss is not a number, if that is because no label counted; else NULL.
const char *dp_tally_remark(const dp_tally *tally);
// All but the loss that the program gives. Returns how many.
int dp_tally_numbers(const dp_tally *tally, dp_metrics_number numbers[DP_MEASURES]);

// Prints, for each class, its labels, predictions, recall and precision, and the matrix where that is small.
void dp_tally_print_classes(const dp_tally *tally, FILE *out);

#endif
