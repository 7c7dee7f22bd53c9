// What a page is made from, and the sections that make it. A section is one file and one line of list.h.
#ifndef DP_TOOLS_REPORT_SECTION_H
#define DP_TOOLS_REPORT_SECTION_H

#include "ir/plan/plan.pb-c.h"
#include "tools/report/chart.h"
#include "tools/report/metrics.h"
#include "tools/report/runs.h"
#include "tools/report/trace.h"

typedef struct {
  int64_t step;
  double bytes;  // its files
  bool best;
} dp_report_checkpoint;

typedef struct {
  dp_arena *arena;
  const char *folder;
  dp_report_notes notes;
  dp_report_metrics metrics;  // path NULL: there are none
  dp_report_trace trace;      // path NULL: there is none
  const char *plan_path;
  const Dp__Plan *plan;  // NULL: it was not found
  size_t n_runs, n_checkpoints;
  const dp_report_run *runs;                // (n_runs) in order of time
  const dp_report_checkpoint *checkpoints;  // (n_checkpoints) by step
} dp_report;

typedef struct {
  const char *id, *title;
  // Why there is nothing to show, as a sentence; NULL: there is.
  const char *(*missing)(const dp_report *report);
  void (*write)(dp_page *page, const dp_report *report);
} dp_report_section;

// Reads all sources. What cannot be read is left out and noted, unless an option named it. EX_NOINPUT: there is no such
// folder, and failures of files that were named.
typedef struct {
  const char *folder;
  const char *metrics, *trace, *plan;  // NULL: as the folder says
} dp_report_sources;
dp_status dp_report_read(dp_arena *arena, const dp_report_sources *sources, dp_report *report) DP_MUST_USE;

// Writes the whole page.
void dp_report_write(dp_page *page, const dp_report *report);

#endif
