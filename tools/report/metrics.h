// The lines of --metrics as columns of numbers.
#ifndef DP_TOOLS_REPORT_METRICS_H
#define DP_TOOLS_REPORT_METRICS_H

#include "tools/report/notes.h"

enum { DP_REPORT_COLUMNS = 24 };

// Rows in the order of their steps; a number that a line lacks, or that is null, is NaN.
typedef struct {
  size_t n_rows, capacity;
  int n_columns;  // "step" is the first; fields beyond DP_REPORT_COLUMNS are left out, as are long names
  struct {
    const char *name;
    double *values;  // (n_rows)
  } columns[DP_REPORT_COLUMNS];
} dp_report_table;

// The column's values; NULL: no line has the field.
const double *dp_report_column(const dp_report_table *table, const char *name);

typedef struct {
  const char *path;  // NULL: none was found
  dp_report_table steps, evals;
  // Of the last event `memory`, in bytes; 0: there is none.
  double arena_bytes, arena_resident_bytes, peak_resident_bytes, other_bytes;
} dp_report_metrics;

// Reads the file. Lines that are no events are named in notes and left out. Where the steps begin again, as when files
// are put together, the later ones count. EX_NOINPUT, EX_IOERR; EX_DATAERR: not a regular file, or no line is an event.
dp_status dp_report_metrics_read(dp_arena *arena, const char *path, dp_report_notes *notes,
                                 dp_report_metrics *metrics) DP_MUST_USE;

#endif
