// The learning rate over the steps.
#include "tools/report/figures.h"
#include "tools/report/section.h"

static const char *missing(const dp_report *r) {
  const dp_report_table *t = &r->metrics.steps;
  return t->n_rows && dp_report_column(t, "lr") ? NULL : "Learning rate: no step was trained, or none recorded.";
}

static void write(dp_page *page, const dp_report *r) {
  const dp_report_table *t = &r->metrics.steps;
  const double *step = dp_report_column(t, "step"), *lr = dp_report_column(t, "lr");
  dp_report_figures f;
  if (!dp_report_figures_of(r->arena, t->n_rows, lr, &f)) return;
  const double first = step[0], last = step[t->n_rows - 1];
  const dp_chart chart = {
      .title = "learning rate",
      .unit_x = "step",
      .unit_y = "",
      .x = first < last ? (dp_scale){first, last, false} : dp_scale_round(first, last),
      .y = f.low >= 0 && f.high > 0 ? dp_scale_round(0, f.high * 1.1) : dp_scale_round(f.low, f.high),
      .height = 200};
  dp_chart_begin(page, &chart, NULL, NULL);
  dp_chart_curve(page, &chart, "train", t->n_rows, step, lr);
  dp_chart_end(page, &chart);
}

const dp_report_section dp_report_section_rate = {
    .id = "rate", .title = "Learning rate", .missing = missing, .write = write};
