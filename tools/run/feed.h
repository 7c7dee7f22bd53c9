// The data of one program: the files, checked against the plan's inputs, and batches of them. A thread writes the
// batches to the session's input memory, one step ahead.
#ifndef DP_TOOLS_RUN_FEED_H
#define DP_TOOLS_RUN_FEED_H

#include "runtime/data/loader.h"
#include "runtime/session.h"
#include "tools/cli.h"

typedef struct {
  int program;
  dp_loader *loader;
  dp_prefetch *prefetch;  // NULL: not started
  int n_inputs;
  void **targets;          // (2, n_inputs), for both slots
  int64_t samples, steps;  // steps: in an epoch
  int depth;               // batches that are ready ahead
  const char *rounded;     // the message that a file's numbers were rounded; NULL: none were
  dp_data **files;         // (n_inputs)
} dp_dprun_feed;

// What a feed is made of.
typedef struct {
  const char *program;
  const char *option;  // "data" or "eval-data", for messages
  int n_pairs, n_augments;
  const dp_cli_pair *pairs, *augments;  // NAME=FILE, NAME=flip,crop:4
  dp_loader_options loader;
  int depth;  // batches that are ready ahead
} dp_dprun_feeding;

// Opens the files and prepares the session for every n that they will give. EX_USAGE: names and inputs do not match.
dp_status dp_dprun_feed_open(dp_arena *arena, dp_session *session, const dp_dprun_feeding *feeding,
                             dp_dprun_feed *feed) DP_MUST_USE;
// Starts the batches at positions [first, end). Only one feed of a session may be active, since its programs share the
// input memory.
dp_status dp_dprun_feed_begin(dp_dprun_feed *feed, int64_t first, int64_t end) DP_MUST_USE;
void dp_dprun_feed_end(dp_dprun_feed *feed);
void dp_dprun_feed_close(dp_dprun_feed *feed);

#endif
