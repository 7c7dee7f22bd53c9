// One step of a trace that dprun --trace wrote.
#ifndef DP_TOOLS_REPORT_TRACE_H
#define DP_TOOLS_REPORT_TRACE_H

#include "tools/report/notes.h"

typedef enum { DP_SLICE_WAIT, DP_SLICE_COMPUTE, DP_SLICE_COMMUNICATE, DP_SLICE_MOVE } dp_report_slice_kind;

typedef struct {
  int device, stream;
  dp_report_slice_kind kind;
  double begin_us, end_us;  // within the step, which begins at 0
  const char *name;
} dp_report_slice;

typedef struct {
  int device, stream;
  const char *device_name, *name;
} dp_report_track;

typedef struct {
  const char *path;     // NULL: none was found
  const char *program;  // "train"; NULL: there is no slice
  int64_t run, n_runs;  // the run that is shown, and how many of its program were recorded
  double us;            // how long it took
  size_t n_slices;
  const dp_report_slice *slices;  // (n_slices) track by track, in order of time
  int n_tracks;
  const dp_report_track *tracks;  // (n_tracks) by device and stream
  double communication_ms;        // of the whole run of dprun, between devices
  double hidden_ms;               // the part of it during which some device computed
} dp_report_trace;

// Reads the trace and chooses a step: of the runs of `train` (else `infer`) that are complete, the one of median
// duration. Damaged lines are named in notes. EX_NOINPUT, EX_IOERR; EX_DATAERR: not a trace of dprun.
dp_status dp_report_trace_read(dp_arena *arena, const char *path, dp_report_notes *notes,
                               dp_report_trace *trace) DP_MUST_USE;

#endif
