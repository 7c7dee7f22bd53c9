// Runs a program on all batches of a feed, as many at a time as the session allows: while one runs, the next one's
// inputs are on their way, and what is done with results waits for neither.
#ifndef DP_TOOLS_RUN_STEPS_H
#define DP_TOOLS_RUN_STEPS_H

#include "runtime/session.h"
#include "tools/run/feed.h"

typedef struct {
  dp_session *session;
  const dp_dprun_feed *feed;     // begun
  const Dp__Schedule *schedule;  // of the learning rate; NULL: none
  int64_t first;                 // the number of the first step, from 0
  const char *what;              // that a failure names, with the step's number from 1: "step"
  // Called for each step in order when it is over; the session gives its results. ms: since the step began or the one
  // before was over, whichever was later.
  dp_status (*done)(void *context, const dp_step *step, double ms);
  // Whether to let all steps end after this one, counted from 1, and call `pause` before going on. NULL: never.
  bool (*pauses)(const void *context, int64_t steps);
  dp_status (*pause)(void *context);
  void *context;
} dp_dprun_steps;

// Ends after the last batch or when a signal came, with no step going on in either case.
dp_status dp_dprun_steps_run(const dp_dprun_steps *steps) DP_MUST_USE;

#endif
