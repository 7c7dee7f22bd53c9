// --metrics: one JSON object a line, a step, an evaluation or an inference each, and memory at the end; the fields are those of the design's part 2.2.
#ifndef DP_RUNTIME_METRICS_H
#define DP_RUNTIME_METRICS_H

#include <stdio.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *path;
  FILE *file;       // NULL: no metrics are wanted, and the functions do nothing
  int loss_digits;  // 9, or 17 for float64
  bool (*stopped)(void);
  bool failed;  // standard output took no more
} dp_metrics;

// path NULL: none; "-": standard output. stopped says whether the run has been told to end: then nothing waits for whoever
// reads standard output; NULL: it never is. EX_CANTCREAT.
dp_status dp_metrics_open(const char *path, int loss_digits, bool (*stopped)(void), dp_metrics *metrics) DP_MUST_USE;
// step and epoch count from 1; milliseconds of this step.
void dp_metrics_step(dp_metrics *metrics, int64_t step, int64_t epoch, double loss, double lr, int64_t samples,
                     double ms);
// step: trained so far; epoch: that of the last of these steps; both 0 before any. accuracy below 0: the
// loss has no classes, the field is left out.
void dp_metrics_eval(dp_metrics *metrics, int64_t step, int64_t epoch, double loss, double accuracy, int64_t samples);
// All samples and the milliseconds that they took.
void dp_metrics_infer(dp_metrics *metrics, int64_t samples, double ms);
// Bytes; see docs/running.md.
typedef struct {
  uint64_t persistent, transient;
} dp_metrics_stage;
typedef struct {
  uint64_t persistent, transient;    // arenas of one device, of the stage whose devices have most
  size_t n_stages;                   // of a pipeline; 0: there is none
  const dp_metrics_stage *stages;    // arenas of one device of each
  uint64_t host_input, host_output;  // one copy
  uint64_t devices, arenas;          // all arenas of all devices, with all copies
  uint64_t arenas_resident;          // the part of them that was ever touched
  uint64_t peak_resident;            // of the process
  uint64_t other;                    // the rest: libraries, data sets, the plan and its tables, threads
} dp_metrics_bytes;
void dp_metrics_memory(dp_metrics *metrics, const dp_metrics_bytes *bytes);
// EX_IOERR when anything could not be written. Closes in any case.
dp_status dp_metrics_close(dp_metrics *metrics) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
