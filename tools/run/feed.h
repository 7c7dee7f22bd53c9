// The data of one program: files, checked against the inputs that the plan asks for, and batches of them, written into the
// session's input memory by a thread that is one step ahead.
#ifndef DP_TOOLS_RUN_FEED_H
#define DP_TOOLS_RUN_FEED_H

#include "runtime/data/loader.h"
#include "runtime/session.h"
#include "tools/cli.h"

typedef struct {
  int program;
  dp_loader *loader;
  dp_prefetch *prefetch;  // NULL: none under way
  int n_inputs;
  void **targets;          // (2, n_inputs): of both slots
  int64_t samples, steps;  // steps: an epoch
  const char *rounded;     // says which file's numbers were rounded; NULL: none's were
} dp_dprun_feed;

// Reads the files and prepares the session for every n that they will give. option: "data" or "eval-data", for messages.
// EX_USAGE when names and inputs do not match.
dp_status dp_dprun_feed_open(dp_arena *arena, dp_session *session, const char *program, const char *option,
                             const dp_cli_pair *pairs, int n_pairs, const dp_loader_options *options,
                             dp_dprun_feed *feed) DP_MUST_USE;
// Batches from position `first` to before `end`; one such run at a time in a session, whose programs share the memory.
dp_status dp_dprun_feed_begin(dp_dprun_feed *feed, int64_t first, int64_t end) DP_MUST_USE;
void dp_dprun_feed_end(dp_dprun_feed *feed);
void dp_dprun_feed_close(dp_dprun_feed *feed);

#endif
