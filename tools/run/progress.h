// A progress bar with loss and samples per second, on stderr if that is a terminal. It fits one line of the terminal:
// if that is narrow, speed, epoch and loss are dropped in that order.
#ifndef DP_TOOLS_RUN_PROGRESS_H
#define DP_TOOLS_RUN_PROGRESS_H

#include "ir/base/base.h"

typedef struct {
  bool shown;
  int64_t steps;  // in an epoch
  double last_s;  // when it was last drawn
} dp_progress;

double dp_progress_now(void);  // seconds, monotonic
dp_progress dp_progress_begin(bool quiet, int64_t steps);
// Draws at most ten times a second. done: steps of this epoch.
void dp_progress_draw(dp_progress *progress, int64_t epoch, int64_t done, double loss, double samples_per_s);
void dp_progress_clear(dp_progress *progress);  // call before printing anything else

#endif
