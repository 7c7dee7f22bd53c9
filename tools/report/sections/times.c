// How long steps took: a histogram, and the steps that took much longer than the rest.
#include <math.h>
#include <string.h>

#include "tools/report/figures.h"
#include "tools/report/section.h"

enum { BINS = 40, NAMED = 8 };

static const char *missing(const dp_report *r) {
  const dp_report_table *t = &r->metrics.steps;
  return t->n_rows && dp_report_column(t, "ms") ? NULL : "Times of steps: no step was trained, or none recorded.";
}

// Beyond it a time is an outlier: Tukey's outer fence.
static double find_fence(const dp_report_figures *f) {
  const double fence = f->three_quarters + 3 * (f->three_quarters - f->quarter);
  return fence > f->median ? fence : f->median * 2;
}

typedef struct {
  const char *unit;
  double ms;  // of one unit
} time_unit;

static time_unit choose_unit(double ms) {
  return ms >= 1e4 ? (time_unit){"s", 1e3} : ms >= 1 ? (time_unit){"ms", 1} : (time_unit){"\u00b5s", 1e-3};
}

static void put_histogram(dp_page *page, const dp_report_figures *f, double fence) {
  size_t bins[BINS] = {0}, most = 1, within = 0;
  const double top = fmin(fence, f->high);
  const time_unit unit = choose_unit(top);
  const dp_scale x = dp_scale_round(f->low / unit.ms, top / unit.ms);
  for (; within < f->count && f->sorted[within] <= top; within++) {
    const int bin = (int)(dp_scale_at(&x, f->sorted[within] / unit.ms) * BINS);
    bins[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
  }
  for (int i = 0; i < BINS; i++)
    if (bins[i] > most) most = bins[i];
  const dp_chart chart = {.title = "steps by time",
                          .unit_x = unit.unit,
                          .unit_y = "number of steps",
                          .x = x,
                          .y = dp_scale_round(0, (double)most),
                          .height = 200};
  dp_chart_begin(page, &chart, NULL, NULL);
  for (int i = 0; i < BINS; i++) {
    const double y = dp_chart_y(&chart, (double)bins[i]), width = DP_CHART_WIDTH / (double)BINS;
    if (bins[i])
      dp_page_put(page, "<rect class=\"compute\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
                  i * width + 1, y, width - 2, chart.height - y);
  }
  dp_chart_end(page, &chart);
}

// The rows of the slowest steps beyond the fence, the slowest first. Returns how many; *count: of all that are beyond.
static size_t find_outliers(const dp_report_table *t, double fence, size_t rows[NAMED], size_t *count) {
  const double *ms = dp_report_column(t, "ms");
  size_t n = 0;
  *count = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    if (!(ms[i] > fence)) continue;
    (*count)++;
    size_t at = n;
    while (at && ms[rows[at - 1]] < ms[i]) at--;
    if (at == NAMED) continue;
    if (n < NAMED) n++;
    memmove(rows + at + 1, rows + at, (n - at - 1) * sizeof *rows);
    rows[at] = i;
  }
  return n;
}

static void put_outliers(dp_page *page, const dp_report *r, const dp_report_figures *f, double fence) {
  const dp_report_table *t = &r->metrics.steps;
  const double *step = dp_report_column(t, "step"), *ms = dp_report_column(t, "ms");
  size_t rows[NAMED], count;
  const size_t n = find_outliers(t, fence, rows, &count);
  char text[DP_PAGE_NUMBER];
  dp_page_put(page, "<p class=\"note\">");
  dp_page_print(page, "median %s, ", dp_page_time(f->median, text));
  dp_page_print(page, "95 of 100 steps within %s, ", dp_page_time(f->p95, text));
  dp_page_print(page, "slowest %s. ", dp_page_time(f->high, text));
  if (!count) {
    dp_page_put(page, "No outliers.</p>\n");
    return;
  }
  dp_page_print(page, "%zu outlier%s of more than %s, not drawn:", count, count > 1 ? "s" : "",
                dp_page_time(fence, text));
  for (size_t i = 0; i < n; i++)
    dp_page_print(page, "%s step %.0f (%s)", i ? "," : "", step[rows[i]], dp_page_time(ms[rows[i]], text));
  dp_page_put(page, "%s</p>\n", count > n ? " and others." : ".");
}

static void write(dp_page *page, const dp_report *r) {
  const dp_report_table *t = &r->metrics.steps;
  dp_report_figures f;
  if (!dp_report_figures_of(r->arena, t->n_rows, dp_report_column(t, "ms"), &f)) return;
  const double fence = find_fence(&f);
  put_histogram(page, &f, fence);
  put_outliers(page, r, &f, fence);
}

const dp_report_section dp_report_section_times = {
    .id = "times", .title = "Times of steps", .missing = missing, .write = write};
