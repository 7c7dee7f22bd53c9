// A progress bar with loss and samples a second, on stderr when that is a terminal; elsewhere nothing. It keeps to one line
// of the terminal, however narrow: speed, epoch and loss give way in that order.
#ifndef DP_TOOLS_RUN_PROGRESS_H
#define DP_TOOLS_RUN_PROGRESS_H

#include "ir/base/base.h"

typedef struct {
  bool shown;
  int64_t steps;  // of an epoch
  double last_s;  // when it was drawn last
} dp_progress;

double dp_progress_now(void);  // seconds, monotonic
dp_progress dp_progress_begin(bool quiet, int64_t steps);
// At most ten times a second. done: steps of this epoch.
void dp_progress_draw(dp_progress *progress, int64_t epoch, int64_t done, double loss, double samples_per_s);
void dp_progress_clear(dp_progress *progress);  // before anything else is printed

#endif
