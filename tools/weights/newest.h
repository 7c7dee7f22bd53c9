// Checkpoints that are whole: one folder, or the newest one in a folder of --save.
#ifndef DP_TOOLS_WEIGHTS_NEWEST_H
#define DP_TOOLS_WEIGHTS_NEWEST_H

#include "runtime/checkpoint/folder.h"

typedef struct {
  const char *path;  // the checkpoint's folder
  dp_checkpoint_record record;
  dp_safetensors file;  // open; the caller closes it
} dp_weights_checkpoint;

// Whether the path is a folder.
bool dp_weights_is_folder(const char *path);
// Opens a checkpoint's folder, DIR/step-N or a link to it, and reads all of its tensors once, to see that each byte is
// as it was written. The path must outlive it. EX_NOINPUT: one of its files is missing; EX_DATAERR: damaged.
dp_status dp_weights_checkpoint_open(dp_arena *arena, const char *path, dp_weights_checkpoint *checkpoint) DP_MUST_USE;
// Opens the newest checkpoint of DIR that is whole; its path is NULL if none is. Newer ones are named on stderr and
// passed over. *count: how many there are, whole or not.
dp_status dp_weights_checkpoint_newest(dp_arena *arena, const char *folder, int *count,
                                       dp_weights_checkpoint *checkpoint) DP_MUST_USE;
// What --init may name: a folder of checkpoints, of which the newest whole one is opened, or the folder of one.
// EX_NOINPUT: it is neither; EX_DATAERR: none is whole.
dp_status dp_weights_checkpoint_find(dp_arena *arena, const char *folder,
                                     dp_weights_checkpoint *checkpoint) DP_MUST_USE;

#endif
