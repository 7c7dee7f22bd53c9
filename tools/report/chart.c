// See chart.h.
#include "tools/report/chart.h"

#include <math.h>

double dp_chart_x(const dp_chart *chart, double value) { return dp_scale_at(&chart->x, value) * DP_CHART_WIDTH; }
double dp_chart_y(const dp_chart *chart, double value) { return (1 - dp_scale_at(&chart->y, value)) * chart->height; }

static void put_caption(dp_page *page, const dp_chart *chart) {
  dp_page_put(page, "<figcaption><span><b>");
  dp_page_text(page, chart->title);
  dp_page_put(page, "</b>");
  if (*chart->unit_y) dp_page_print(page, ", %s", chart->unit_y);
  dp_page_put(page, "</span>");
  for (int i = 0; i < chart->n_keys; i++) {
    dp_page_put(page, "<span class=\"key\"><i class=\"%s\"></i>", chart->keys[i].style);
    dp_page_text(page, chart->keys[i].name);
    dp_page_put(page, "</span>");
  }
  dp_page_put(page, "</figcaption>\n");
}

static void put_y_labels(dp_page *page, const dp_chart *chart, int n, const double *ticks, double step) {
  char text[DP_PAGE_NUMBER];
  for (int i = 0; i < n; i++) {
    dp_page_put(page, "<span style=\"top:%.2f%%\">", 100 * (1 - dp_scale_at(&chart->y, ticks[i])));
    dp_page_text(page, dp_scale_label(ticks[i], step, text));
    dp_page_put(page, "</span>");
  }
}

void dp_chart_begin(dp_page *page, const dp_chart *chart, void (*lanes)(dp_page *, void *), void *context) {
  double ticks[DP_CHART_TICKS], step = 0;
  const int n = chart->no_y ? 0 : dp_scale_ticks(&chart->y, chart->height < 100 ? 2 : 5, ticks, &step);
  dp_page_put(page, "<figure>");
  put_caption(page, chart);
  dp_page_put(page,
              "<div class=\"plot%s\" data-low=\"%.17g\" data-high=\"%.17g\">"
              "<div class=\"y\" style=\"height:%dpx\">",
              lanes ? " lanes" : "", chart->x.low, chart->x.high, chart->height);
  if (lanes)
    lanes(page, context);
  else
    put_y_labels(page, chart, n, ticks, step);
  dp_page_put(
      page,
      "</div><div class=\"field\" style=\"height:%dpx\"><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"",
      chart->height, DP_CHART_WIDTH, chart->height);
  dp_page_text(page, chart->title);
  dp_page_put(page, "\">\n");
  for (int i = 0; i < n; i++) {
    const double y = dp_chart_y(chart, ticks[i]);
    dp_page_put(page, "<path class=\"grid\" d=\"M0 %.2fH%d\"/>", y, DP_CHART_WIDTH);
  }
  dp_page_put(page, "\n");
}

void dp_chart_end(dp_page *page, const dp_chart *chart) {
  double ticks[DP_CHART_TICKS], step;
  char text[DP_PAGE_NUMBER];
  const int n = dp_scale_ticks(&chart->x, 5, ticks, &step);
  dp_page_put(page, "</svg><div class=\"names\"></div></div><div class=\"x\">");
  for (int i = 0; i < n; i++) {
    dp_page_put(page, "<span style=\"left:%.2f%%\">", 100 * dp_scale_at(&chart->x, ticks[i]));
    dp_page_text(page, dp_scale_label(ticks[i], step, text));
    dp_page_put(page, "</span>");
  }
  dp_page_put(page, "</div><div class=\"unit\">");
  dp_page_text(page, chart->unit_x);
  dp_page_put(page, "</div></div></figure>\n");
}

// ---- curves ---------------------------------------------------------------------------------------------------------

// The finite values of one column of the field, by index; the four may be the same.
typedef struct {
  bool any;
  size_t first, low, high, last;
} column;

static int column_of(const dp_chart *chart, double x) { return (int)floor(dp_chart_x(chart, x)); }

// The column that begins at *at, which is moved behind it.
static column take_column(const dp_chart *chart, size_t count, const double *x, const double *y, size_t *at) {
  column c = {0};
  const int of = column_of(chart, x[*at]);
  for (; *at < count && column_of(chart, x[*at]) == of; (*at)++) {
    if (!isfinite(y[*at])) continue;
    if (!c.any) c = (column){true, *at, *at, *at, *at};
    if (y[*at] < y[c.low]) c.low = *at;
    if (y[*at] > y[c.high]) c.high = *at;
    c.last = *at;
  }
  return c;
}

// Writes the values of a column in their order, each once.
static void put_column(dp_page *page, const dp_chart *chart, const column *c, const double *x, const double *y,
                       bool joined, bool dots) {
  const size_t one = c->low < c->high ? c->low : c->high, other = c->low < c->high ? c->high : c->low;
  const size_t order[] = {c->first, one, other, c->last};
  for (int i = 0; i < 4; i++) {
    if (i && order[i] == order[i - 1]) continue;
    dp_page_put(page, "%c%.2f %.2f%s", joined && !dots ? 'L' : 'M', dp_chart_x(chart, x[order[i]]),
                dp_chart_y(chart, y[order[i]]), dots ? "h0" : "");
    joined = true;
  }
}

static void put_path(dp_page *page, const dp_chart *chart, const char *style, size_t count, const double *x,
                     const double *y, bool dots) {
  bool joined = false;
  dp_page_put(page, "<path class=\"%s %s\" d=\"", dots ? "dots" : "line", style);
  for (size_t at = 0; at < count;) {
    const column c = take_column(chart, count, x, y, &at);
    if (c.any) put_column(page, chart, &c, x, y, joined, dots);
    if (c.any && !joined && !dots) dp_page_put(page, "h0");  // so that a point alone shows
    joined = c.any;
  }
  dp_page_put(page, "\"/>\n");
}

void dp_chart_curve(dp_page *page, const dp_chart *chart, const char *style, size_t count, const double *x,
                    const double *y) {
  put_path(page, chart, style, count, x, y, false);
}

void dp_chart_dots(dp_page *page, const dp_chart *chart, const char *style, size_t count, const double *x,
                   const double *y) {
  put_path(page, chart, style, count, x, y, true);
}
