// What dprun prints at the end: how good the classes are told apart, the best evaluation, and the result.
#include <math.h>

#include "tools/run/dprun.h"
#include "tools/run/line.h"

enum { REMARK_BYTES = 40 };

// ": no label counted", or nothing.
static const char *remark_on(const dp_tally *tally, char text[REMARK_BYTES]) {
  const char *remark = dp_tally_remark(tally);
  snprintf(text, REMARK_BYTES, "%s%s", remark ? ": " : "", remark ? remark : "");
  return text;
}

static void print_line(const dp_dprun *run, FILE *out) {
  char text[REMARK_BYTES];
  if (run->accuracy >= 0)
    fprintf(out, "accuracy %.1f %%\n", 100 * run->accuracy);
  else if (run->measured && !run->first_step)
    dp_line_print(out, "loss %.9g (evaluation%s)", run->loss, remark_on(&run->eval_tally, text));
  else if (run->measured)
    dp_line_print(out, "loss %.9g (training, mean of steps %lld to %lld%s)", run->loss, (long long)run->first_step,
                  (long long)run->steps, remark_on(&run->train_tally, text));
}

// JSON has no infinities.
static void put_number(FILE *out, const char *name, double number) {
  if (isfinite(number))
    fprintf(out, ",\"%s\":%.*g", name, 17, number);
  else
    fprintf(out, ",\"%s\":null", name);
}

static void put_tally(FILE *out, const dp_tally *t) {
  dp_metrics_number numbers[DP_MEASURES];
  const int n = dp_tally_numbers(t, numbers);
  put_number(out, "loss", dp_tally_value(t, DP_MEASURE_LOSS));
  for (int i = 0; i < n; i++) put_number(out, numbers[i].name, numbers[i].number);
  fprintf(out, ",\"samples\":%lld", (long long)t->samples);
}

void dp_dprun_result_begin(const dp_dprun *run, FILE *out) {
  fputs("{\"event\":\"result\"", out);
  if (run->place.number) fprintf(out, ",\"run\":%d", run->place.number);
}

static void print_json(const dp_dprun *run, FILE *out) {
  dp_dprun_result_begin(run, out);
  fprintf(out, ",\"steps\":%lld", (long long)run->steps);
  if (run->measured) {
    fprintf(out, ",\"of\":\"%s\"", run->first_step ? "training" : "evaluation");
    put_tally(out, run->first_step ? &run->train_tally : &run->eval_tally);
  }
  if (run->best.metric && run->best.step >= 0) {
    fprintf(out, ",\"best_by\":\"%s\",\"best_step\":%lld", run->best.metric, (long long)run->best.step);
    put_number(out, "best", run->best.value);
  }
  fputs("}\n", out);
}

void dp_dprun_result_print(const dp_dprun *run, FILE *out) {
  const char *slow = dp_session_remark(run->session);
  if (!run->options->quiet) {
    if (slow) dp_line_print(stderr, "note: steps were issued one instruction at a time: %s", slow);
    dp_dprun_watch_print(run);
    if (run->eval_tally.labels) dp_tally_print_classes(&run->eval_tally, stderr);
  }
  if (run->options->watch.json)
    print_json(run, out);
  else
    print_line(run, out);
}
