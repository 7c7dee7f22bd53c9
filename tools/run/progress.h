// How far training is, on stderr: on a terminal a bar, drawn again and again, else a line each five seconds.
//
// The bar fits one line of the terminal. If that is narrow, speed is dropped first, then the time that is left, then
// the epoch, then the loss. There are no colours, so that NO_COLOR has nothing to forbid.
#ifndef DP_TOOLS_RUN_PROGRESS_H
#define DP_TOOLS_RUN_PROGRESS_H

#include "ir/base/base.h"

typedef enum { DP_PROGRESS_NONE, DP_PROGRESS_BAR, DP_PROGRESS_LINES } dp_progress_kind;

typedef struct {
  dp_progress_kind kind;
  double last_s;  // when it was last drawn, or something else was printed
} dp_progress;

typedef struct {
  int64_t epoch, epochs;  // epoch counts from 1
  int64_t done, steps;    // of this epoch
  double loss, samples_per_s;
  double left_s;  // until the end of training, at the present speed
} dp_progress_point;

double dp_progress_now(void);  // seconds, monotonic
dp_progress dp_progress_begin(bool quiet);
// Draws at most ten times a second, or prints a line if the last one of any kind is five seconds old.
void dp_progress_draw(dp_progress *progress, const dp_progress_point *point);
void dp_progress_clear(dp_progress *progress);  // call before printing anything else

#endif
