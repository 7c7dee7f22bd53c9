// A folder of checkpoints, one folder each: DIR/step-N with two files.
//
//   weights.safetensors  every parameter and buffer, and the optimizer's state under names that begin with "dp."
//   checkpoint.json      where training stood (record.h)
//
// DIR/best is a symbolic link to the best of them, if one was called so.
//
// A checkpoint is written under another name, DIR/.step-N.saving. Its files are written, synced and renamed, then its
// folder is synced and renamed, then DIR is synced. Old checkpoints go only after that: each is first renamed to
// DIR/.step-N.deleting. So whatever happens and whenever, a folder called step-N is whole, and the newest one stays.
#ifndef DP_RUNTIME_CHECKPOINT_FOLDER_H
#define DP_RUNTIME_CHECKPOINT_FOLDER_H

#include "ir/file/safetensors.h"
#include "runtime/checkpoint/record.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DP_CHECKPOINT_WEIGHTS "weights.safetensors"
#define DP_CHECKPOINT_RECORD "checkpoint.json"

// The steps of the checkpoints in a folder, the newest first. None if there is no such folder. EX_NOINPUT: it cannot be
// read.
dp_status dp_checkpoints_list(dp_arena *arena, const char *folder, int64_t **steps, int *count) DP_MUST_USE;
// folder/step-N.
const char *dp_checkpoints_path(dp_arena *arena, const char *folder, int64_t step);

// A folder that this process alone writes to.
typedef struct {
  const char *path;  // the caller's
  int fd;            // open and locked; -1: closed
} dp_checkpoints;

// Makes the folder if need be, locks it, and removes what a process that was killed left behind. EX_CANTCREAT: it
// cannot be written, or another process writes to it.
dp_status dp_checkpoints_open(const char *path, dp_checkpoints *folder) DP_MUST_USE;
void dp_checkpoints_close(dp_checkpoints *folder);

// Writes a checkpoint, replacing one of the same step. `source` gives the tensors' data, as for
// dp_safetensors_write_from; record->tensors is set here. On failure, the older checkpoints remain. Not thread-safe,
// but any thread will do. EX_CANTCREAT, EX_IOERR.
dp_status dp_checkpoints_save(const dp_checkpoints *folder, dp_checkpoint_record *record, const dp_safetensor *tensors,
                              size_t count, dp_safetensors_source *source, void *context) DP_MUST_USE;
// Replaces the record of a checkpoint, whose tensors stay. At any moment either the old one or the new one is there.
// EX_CANTCREAT, EX_IOERR.
dp_status dp_checkpoints_amend(const dp_checkpoints *folder, const dp_checkpoint_record *record) DP_MUST_USE;
// Makes DIR/best point to the checkpoint of this step, in place of another. EX_IOERR.
dp_status dp_checkpoints_set_best(const dp_checkpoints *folder, int64_t step) DP_MUST_USE;
// Deletes all but the newest `keep` checkpoints of step `newest` and before, and the best. Later ones, if any, were
// passed over when training went on, so they are not counted and stay until they are replaced. EX_IOERR.
dp_status dp_checkpoints_prune(const dp_checkpoints *folder, int64_t newest, int64_t keep) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
