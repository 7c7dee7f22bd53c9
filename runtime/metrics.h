// --metrics: one JSON object in each line, for a step, an evaluation, an inference, and at the end memory.
// docs/running.md lists the fields.
#ifndef DP_RUNTIME_METRICS_H
#define DP_RUNTIME_METRICS_H

#include <stdio.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *path;
  FILE *file;       // NULL: metrics are off and the functions do nothing
  int loss_digits;  // 9, or 17 for float64
  bool (*stopped)(void);
  int error;      // why a write failed; 0: none has
  bool given_up;  // standard output has no room, and nobody waits for it any more
} dp_metrics;

// path: NULL for none, "-" for standard output. stopped: whether the run has been told to stop; from then on, nothing
// waits for the reader of standard output. NULL: it never is. go_on: dp_metrics_go_on will read the lines of an earlier
// run. They stay until that or dp_metrics_begin is called. EX_CANTCREAT.
dp_status dp_metrics_open(const char *path, int loss_digits, bool (*stopped)(void), bool go_on,
                          dp_metrics *metrics) DP_MUST_USE;
// Drops the lines of an earlier run. EX_IOERR.
dp_status dp_metrics_begin(dp_metrics *metrics) DP_MUST_USE;
// Drops the lines from the first one on that is not of the first `steps` steps, or that cannot be read. An evaluation
// after step `steps` is dropped too, since it is made again. EX_IOERR.
dp_status dp_metrics_go_on(dp_metrics *metrics, int64_t steps) DP_MUST_USE;

// What was measured of a step or an evaluation. step and epoch count from 1; of an evaluation they are the steps
// trained so far and the epoch of the last of them, both 0 before training.
typedef struct {
  const char *name;
  double number;
} dp_metrics_number;
typedef struct {
  int64_t step, epoch, samples;
  double loss;
  int n_numbers;
  const dp_metrics_number *numbers;  // (n_numbers) accuracy and the like
  int64_t classes;
  const int64_t *confusion;  // (classes, classes) labels by class and predicted class; NULL: not counted
} dp_metrics_measured;

// ms: milliseconds of this step.
void dp_metrics_step(dp_metrics *metrics, const dp_metrics_measured *measured, double lr, double ms);
void dp_metrics_eval(dp_metrics *metrics, const dp_metrics_measured *measured);
// All samples, and the milliseconds they took.
void dp_metrics_infer(dp_metrics *metrics, int64_t samples, double ms);
// Bytes; see docs/running.md.
typedef struct {
  uint64_t persistent, transient;
} dp_metrics_stage;
typedef struct {
  uint64_t persistent, transient;    // arenas of one device, in the stage that needs most
  size_t n_stages;                   // pipeline stages; 0: not a pipeline
  const dp_metrics_stage *stages;    // (n_stages) arenas of one device of each stage
  uint64_t host_input, host_output;  // one copy
  uint64_t device_input;             // one copy, of the device that has most; 0: inputs are not uploaded ahead
  uint64_t offload;                  // on the host, of the device that has most there
  uint64_t devices, arenas;          // all arenas of all devices, including copies
  uint64_t arenas_resident;          // the part of them that was ever touched
  uint64_t peak_resident;            // of the process
  uint64_t other;                    // the rest: libraries, data sets, the plan and its tables, threads
} dp_metrics_bytes;
void dp_metrics_memory(dp_metrics *metrics, const dp_metrics_bytes *bytes);
// Writes what is still in memory, so that a process that is killed leaves it.
void dp_metrics_flush(dp_metrics *metrics);
// EX_IOERR: a write failed. Closes the file in any case.
dp_status dp_metrics_close(dp_metrics *metrics) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
