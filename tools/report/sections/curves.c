// Losses and metrics over the steps, of training and of evaluations.
#include <math.h>
#include <string.h>

#include "tools/report/section.h"

static const char *missing(const dp_report *r) {
  return r->metrics.steps.n_rows + r->metrics.evals.n_rows
             ? NULL
             : "Curves, learning rate and times of steps: no metrics were found (dprun --metrics=DIR/metrics.jsonl).";
}

// Columns that are no measurements.
static bool is_position(const char *name) {
  static const char *const positions[] = {"step", "epoch", "samples", "lr", "ms"};
  for (size_t i = 0; i < DP_COUNT(positions); i++)
    if (!strcmp(name, positions[i])) return true;
  return false;
}

static void widen(size_t count, const double *values, double *low, double *high) {
  for (size_t i = 0; values && i < count; i++) {
    if (!isfinite(values[i])) continue;
    *low = fmin(*low, values[i]);
    *high = fmax(*high, values[i]);
  }
}

enum {
  MEANS = 100,  // of a curve that would be a blur without
  LEAST_EACH = 4,
  MOST_DOTS = 60,  // more would be a thick line
};

// Means over stretches of equally many steps, at their middle. *each: how many steps.
static size_t take_means(dp_arena *arena, size_t count, const double *x, const double *y, double **xs, double **ys,
                         size_t *each) {
  const size_t step = (count + MEANS - 1) / MEANS;
  size_t n = 0;
  *xs = dp_alloc_n(arena, MEANS, sizeof **xs);
  *ys = dp_alloc_n(arena, MEANS, sizeof **ys);
  for (size_t i = 0; i < count; i += step, n++) {
    const size_t end = i + step < count ? i + step : count;
    double sum = 0, seen = 0;
    for (size_t k = i; k < end; k++)
      if (isfinite(y[k])) sum += y[k], seen++;
    (*xs)[n] = (x[i] + x[end - 1]) / 2;
    (*ys)[n] = seen > 0 ? sum / seen : NAN;
  }
  *each = step;
  return n;
}

static void put_training(dp_page *page, const dp_report *r, const dp_chart *chart, const double *y, bool means) {
  const dp_report_table *t = &r->metrics.steps;
  const double *x = dp_report_column(t, "step");
  dp_chart_curve(page, chart, means ? "faint" : "train", t->n_rows, x, y);
  if (!means) return;
  double *xs, *ys;
  size_t each, n = take_means(r->arena, t->n_rows, x, y, &xs, &ys, &each);
  dp_chart_curve(page, chart, "train", n, xs, ys);
}

static void put_evaluations(dp_page *page, const dp_report *r, const dp_chart *chart, const double *y) {
  const dp_report_table *t = &r->metrics.evals;
  const double *x = dp_report_column(t, "step");
  dp_chart_curve(page, chart, "eval", t->n_rows, x, y);
  if (t->n_rows <= MOST_DOTS) dp_chart_dots(page, chart, "eval", t->n_rows, x, y);
}

static void put_chart(dp_page *page, const dp_report *r, const char *name) {
  const dp_report_table *steps = &r->metrics.steps, *evals = &r->metrics.evals;
  const double *train = dp_report_column(steps, name), *eval = dp_report_column(evals, name);
  double low = INFINITY, high = -INFINITY, first = INFINITY, last = -INFINITY;
  widen(steps->n_rows, train, &low, &high);
  widen(evals->n_rows, eval, &low, &high);
  if (!(low <= high)) return;
  widen(steps->n_rows, train ? dp_report_column(steps, "step") : NULL, &first, &last);
  widen(evals->n_rows, eval ? dp_report_column(evals, "step") : NULL, &first, &last);
  const size_t each = (steps->n_rows + MEANS - 1) / MEANS;
  const bool means = train && each >= LEAST_EACH;
  dp_chart_key keys[3];
  char text[DP_PAGE_NUMBER];
  int n = 0;
  if (train) keys[n++] = (dp_chart_key){means ? "each training step" : "training", means ? "faint" : "train"};
  if (means)
    keys[n++] = (dp_chart_key){dp_printf(r->arena, "mean of %s steps", dp_page_number((double)each, text)), "train"};
  if (eval) keys[n++] = (dp_chart_key){"evaluation", "eval"};
  const dp_chart chart = {.title = name,
                          .unit_x = "step",
                          .unit_y = "",
                          .x = first < last ? (dp_scale){first, last, false} : dp_scale_round(first, last),
                          .y = dp_scale_fit(low, high),
                          .height = 240,
                          .n_keys = n,
                          .keys = keys};
  dp_chart_begin(page, &chart, NULL, NULL);
  if (train) put_training(page, r, &chart, train, means);
  if (eval) put_evaluations(page, r, &chart, eval);
  dp_chart_end(page, &chart);
}

static void put_missing_numbers(dp_page *page, const dp_report_table *t, const char *of) {
  const double *loss = dp_report_column(t, "loss");
  size_t count = 0;
  for (size_t i = 0; loss && i < t->n_rows; i++) count += !isfinite(loss[i]);
  if (!count) return;
  dp_page_put(page, "<p class=\"note\">");
  dp_page_print(page, "%zu %s%s without a finite loss.", count, of, count > 1 ? "s" : "");
  dp_page_put(page, "</p>\n");
}

static void write(dp_page *page, const dp_report *r) {
  const dp_report_table *tables[] = {&r->metrics.steps, &r->metrics.evals};
  dp_page_put(page, "<div class=\"charts\">\n");
  put_chart(page, r, "loss");
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < tables[t]->n_columns; i++) {
      const char *name = tables[t]->columns[i].name;
      const bool done = t == 1 && dp_report_column(tables[0], name);
      if (!done && strcmp(name, "loss") && !is_position(name)) put_chart(page, r, name);
    }
  dp_page_put(page, "</div>\n");
  put_missing_numbers(page, tables[0], "step");
  put_missing_numbers(page, tables[1], "evaluation");
}

const dp_report_section dp_report_section_curves = {
    .id = "curves", .title = "Loss and metrics", .missing = missing, .write = write};
