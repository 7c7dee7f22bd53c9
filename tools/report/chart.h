// Charts: a field of SVG that stretches to the width of the page, with its labels beside it as text, which does not.
// The field is 1,000 units wide, whatever it shows; page.js zooms into it along x.
#ifndef DP_TOOLS_REPORT_CHART_H
#define DP_TOOLS_REPORT_CHART_H

#include "tools/report/page.h"

enum { DP_CHART_WIDTH = 1000, DP_CHART_TICKS = 12 };

typedef struct {
  double low, high;  // high > low; both above 0 if log
  bool log;
} dp_scale;

// The scale for values from low to high, at most 1e300 each, widened to round numbers. Values that do not differ get
// some room.
dp_scale dp_scale_round(double low, double high);
// The same for values that are all above 0 and span more than two decades: logarithmic; else as dp_scale_round.
dp_scale dp_scale_fit(double low, double high);
// Where a value is: 0 at low, 1 at high.
double dp_scale_at(const dp_scale *scale, double value);
// Round values within the scale, about `wanted` of them, into ticks. *step: their distance; 0: logarithmic. Returns how
// many.
int dp_scale_ticks(const dp_scale *scale, int wanted, double ticks[DP_CHART_TICKS], double *step);
// A tick's label: as many decimals as the step needs, thousands as "k", millions as "M". Returns `text`.
char *dp_scale_label(double value, double step, char text[DP_PAGE_NUMBER]);

typedef struct {
  const char *name;
  const char *style;  // a class of page.css: "train", "eval" ...
} dp_chart_key;

typedef struct {
  const char *title;   // may come from a file
  const char *unit_x;  // what x counts: "step", "ms"
  const char *unit_y;  // "": none
  dp_scale x, y;
  int height;  // of the field, in pixels and in units
  int n_keys;
  const dp_chart_key *keys;  // (n_keys) what the colours mean
  bool no_y;                 // lanes have labels of their own: dp_chart_lane
} dp_chart;

double dp_chart_x(const dp_chart *chart, double value);  // in units
double dp_chart_y(const dp_chart *chart, double value);

// Writes everything around the field, up to the first shape within it and from the last one on. lanes: writes labels in
// place of those of y; NULL unless no_y.
void dp_chart_begin(dp_page *page, const dp_chart *chart, void (*lanes)(dp_page *, void *context), void *context);
void dp_chart_end(dp_page *page, const dp_chart *chart);

// Draws count values over x, which rises. More than the field's columns are thinned: of each column remain the first,
// the lowest, the highest and the last value, in their order. A column without a finite value is a gap. style: of a
// key.
void dp_chart_curve(dp_page *page, const dp_chart *chart, const char *style, size_t count, const double *x,
                    const double *y);
// Draws a dot for each value, thinned alike.
void dp_chart_dots(dp_page *page, const dp_chart *chart, const char *style, size_t count, const double *x,
                   const double *y);

#endif
