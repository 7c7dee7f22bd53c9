// Figures that several sections share.
#ifndef DP_TOOLS_REPORT_FIGURES_H
#define DP_TOOLS_REPORT_FIGURES_H

#include "ir/plan/plan.pb-c.h"
#include "tools/report/metrics.h"

// Of the finite values among some.
typedef struct {
  size_t count;
  const double *sorted;  // (count)
  double sum, low, quarter, median, three_quarters, p95, high;
} dp_report_figures;

// False: values is NULL, or none of them is finite.
bool dp_report_figures_of(dp_arena *arena, size_t count, const double *values, dp_report_figures *figures);

// The axis of micro-batches, which is no axis of devices.
bool dp_report_is_time(const Dp__MeshAxis *axis);

#endif
