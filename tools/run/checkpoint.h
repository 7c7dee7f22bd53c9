// Writes the checkpoints that --save=FOLDER asks for.
//
// At the end of a step, all variables are copied to a snapshot in host memory, which was allocated when the run began.
// A thread writes it to disk while training goes on. With --save-sync there is neither: each variable is copied and
// written in turn, and training waits.
#ifndef DP_TOOLS_RUN_CHECKPOINT_H
#define DP_TOOLS_RUN_CHECKPOINT_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/checkpoint/folder.h"
#include "runtime/session.h"

typedef struct {
  dp_checkpoints folder;
  int64_t keep;   // the newest checkpoints that stay; 0: all
  int64_t last;   // the step of the last checkpoint that was begun or gone on from; -1: none
  int64_t whole;  // the step of the last one that is complete; -1: none
  bool sync;      // --save-sync
  bool resumed;   // the run goes on from a checkpoint of the same folder
  dp_session *session;
  dp_checkpoint_record record;  // of this run; its step, tensors and best are the last checkpoint's
  size_t count;
  dp_safetensor *tensors;  // (count) their data is the snapshot's, or all the same room for one of them if `sync`
  int32_t *variables;      // (count)
  uint64_t bytes;          // of all tensors
  bool writing;            // the thread has been started and not yet joined
  pthread_t thread;
  atomic_bool failed;  // set by the thread
  dp_status status;    // of the thread, once it was joined
} dp_dprun_checkpoints;

// Opens the folder. resume: the one to go on from; NULL: none. EX_CONFIG: the folder has checkpoints, and the run is
// not to go on from them.
dp_status dp_dprun_checkpoints_open(dp_arena *arena, const char *path, const char *resume,
                                    dp_dprun_checkpoints *checkpoints) DP_MUST_USE;
// Allocates the snapshot; `record` says what is trained.
dp_status dp_dprun_checkpoints_prepare(dp_arena *arena, dp_session *session, const dp_checkpoint_record *record,
                                       dp_dprun_checkpoints *checkpoints) DP_MUST_USE;
// The run has gone on from a checkpoint of the same folder, whose record is `then`: there is no need to write its
// tensors again, and what it left to delete is deleted. EX_IOERR.
dp_status dp_dprun_checkpoints_go_on(dp_dprun_checkpoints *checkpoints, const dp_checkpoint_record *then) DP_MUST_USE;
// Begins to write a checkpoint, once the one before is complete. If there is one of this step, but from before its
// evaluation, its record is replaced. epoch, position, best: as in a record. If this step is the best one, the folder's
// link points to it once it is complete. Its failure, or that of the one before.
dp_status dp_dprun_checkpoints_save(dp_dprun_checkpoints *checkpoints, int64_t step, int64_t epoch, int64_t position,
                                    const dp_checkpoint_best *best) DP_MUST_USE;
// Whether the one being written has failed, so that there is no use in training on. Finish says why.
bool dp_dprun_checkpoints_failed(const dp_dprun_checkpoints *checkpoints);
// Waits until the last one is complete. Its failure.
dp_status dp_dprun_checkpoints_finish(dp_dprun_checkpoints *checkpoints) DP_MUST_USE;
void dp_dprun_checkpoints_close(dp_dprun_checkpoints *checkpoints);

#endif
