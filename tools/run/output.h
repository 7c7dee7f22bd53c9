// Writes what --output asks for: outputs of the program infer, batch by batch, into .npy files.
//
// Files have samples first, like those of --data, so an output with samples along another axis is transposed. An output
// without a sample axis is written whole, and must be the same in every batch. An output with several, or whose extent
// is not a multiple of the samples, needs all samples in one batch.
#ifndef DP_TOOLS_RUN_OUTPUT_H
#define DP_TOOLS_RUN_OUTPUT_H

#include "runtime/data/npy.h"
#include "runtime/session.h"
#include "tools/cli.h"
#include "tools/run/feed.h"

typedef struct {
  const char *name, *path;
  dp_type type;
  int axis;          // the sample axis; -1: written whole
  char *buffer;      // a transposed batch, or the whole output of the first batch; NULL: not needed
  int64_t elements;  // of the whole output; known after the first batch
  bool open;
  dp_npy_writer file;
} dp_dprun_output;

typedef struct {
  dp_session *session;
  int program;
  int count;
  dp_dprun_output *outputs;
} dp_dprun_outputs;

// Finds the outputs and starts writing the files, under temporary names. EX_USAGE: no output is asked for, or one that
// does not exist; EX_CONFIG: one that cannot be assembled from several batches.
dp_status dp_dprun_output_open(dp_arena *arena, dp_session *session, const dp_dprun_feed *feed, int64_t batch,
                               const dp_cli_pair *pairs, int n_pairs, dp_dprun_outputs *outputs) DP_MUST_USE;
// Writes the batch of n samples that the session has just ended; position counts from 0.
dp_status dp_dprun_output_take(dp_dprun_outputs *outputs, int64_t position, int64_t n) DP_MUST_USE;
// Renames the files into place.
dp_status dp_dprun_output_commit(dp_dprun_outputs *outputs) DP_MUST_USE;
// Deletes the files that are not in place.
void dp_dprun_output_close(dp_dprun_outputs *outputs);

#endif
