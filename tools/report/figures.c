// See figures.h.
#include "tools/report/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Between two values as NumPy's percentile does.
static double quantile(const double *sorted, size_t count, double q) {
  const double at = q * (double)(count - 1);
  const size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

bool dp_report_figures_of(dp_arena *arena, size_t count, const double *values, dp_report_figures *figures) {
  double *sorted = dp_alloc_n(arena, count + 1, sizeof *sorted), sum = 0;
  size_t n = 0;
  for (size_t i = 0; values && i < count; i++)
    if (isfinite(values[i])) sum += sorted[n++] = values[i];
  if (!n) return false;
  qsort(sorted, n, sizeof *sorted, by_size);
  *figures = (dp_report_figures){.count = n,
                                 .sorted = sorted,
                                 .sum = sum,
                                 .low = sorted[0],
                                 .quarter = quantile(sorted, n, 0.25),
                                 .median = quantile(sorted, n, 0.5),
                                 .three_quarters = quantile(sorted, n, 0.75),
                                 .p95 = quantile(sorted, n, 0.95),
                                 .high = sorted[n - 1]};
  return true;
}

bool dp_report_is_time(const Dp__MeshAxis *axis) { return !strcmp(axis->name, "micro"); }
