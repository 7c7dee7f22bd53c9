// DIR/runs.jsonl: a line for each process that trained with --save=DIR. dprun adds them, dprun report reads them.
#ifndef DP_TOOLS_REPORT_RUNS_H
#define DP_TOOLS_REPORT_RUNS_H

#include "tools/report/notes.h"

#define DP_RUNS_FILE "runs.jsonl"

typedef struct {
  const char *date;             // "2026-11-23T20:17:05Z"
  const char *folder;           // in which the command was given
  const char *plan;             // an absolute path
  uint64_t plan_hash;           // the payload's, as in the plan's header
  int64_t first_step;           // counts from 1; more than 1: it went on from a checkpoint
  const char *metrics, *trace;  // absolute paths; NULL: not asked for
  const char *host, *system, *processor;
  int64_t cores, memory_bytes;
  const char *devices;  // where the plan's devices were and how they communicated; NULL: nothing is said
  size_t n_words;
  const char *const *words;  // (n_words) the command
} dp_report_run;

// Fills in date, folder and what is about the machine. NULL or 0: it cannot be found out.
void dp_report_run_here(dp_arena *arena, dp_report_run *run);
// Adds a line to the file and syncs it. What was there stays, whatever happens. EX_CANTCREAT, EX_IOERR.
dp_status dp_report_runs_add(dp_arena *arena, const char *folder, const dp_report_run *run) DP_MUST_USE;
// Reads the file of a folder. Without one, there are no runs. Damaged lines are named in notes. EX_IOERR, EX_DATAERR.
dp_status dp_report_runs_read(dp_arena *arena, const char *folder, dp_report_notes *notes, dp_report_run **runs,
                              size_t *count) DP_MUST_USE;

#endif
