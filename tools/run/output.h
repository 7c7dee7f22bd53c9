// What --output asks for: outputs of the program infer, batch by batch into .npy files.
//
// Samples come first in a file, as in the files of --data: an output of samples along another axis is turned. An output
// without such an axis is written whole, and must be the same for every batch; one that has several, or one of an extent
// that is no multiple of the samples, needs all samples in one batch.
#ifndef DP_TOOLS_RUN_OUTPUT_H
#define DP_TOOLS_RUN_OUTPUT_H

#include "runtime/data/npy.h"
#include "runtime/session.h"
#include "tools/cli.h"
#include "tools/run/feed.h"

typedef struct {
  const char *name, *path;
  dp_type type;
  int axis;          // along which samples lie; -1: written whole
  const void *data;  // the session's
  char *buffer;      // a batch turned, or the first batch's whole; NULL: neither is needed
  int64_t elements;  // of the whole; known after the first batch
  bool open;
  dp_npy_writer file;
} dp_dprun_output;

typedef struct {
  int count;
  dp_dprun_output *outputs;
} dp_dprun_outputs;

// Finds the outputs and begins the files, aside. EX_USAGE: none is asked for, or one that is not there; EX_CONFIG: one
// that cannot be put together from several batches.
dp_status dp_dprun_output_open(dp_arena *arena, dp_session *session, const dp_dprun_feed *feed, int64_t batch,
                               const dp_cli_pair *pairs, int n_pairs, dp_dprun_outputs *outputs) DP_MUST_USE;
// The batch of n that has just run; position counts from 0.
dp_status dp_dprun_output_take(dp_dprun_outputs *outputs, int64_t position, int64_t n) DP_MUST_USE;
// Puts the files in place.
dp_status dp_dprun_output_commit(dp_dprun_outputs *outputs) DP_MUST_USE;
// Takes back what was not put in place.
void dp_dprun_output_close(dp_dprun_outputs *outputs);

#endif
