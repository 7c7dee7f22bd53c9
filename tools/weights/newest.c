// See newest.h.
#include "tools/weights/newest.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- one checkpoint -------------------------------------------------------------------------------------------------

// Checks that every byte of the tensors is as it was written.
static dp_status check_tensors(const dp_weights_checkpoint *c) {
  size_t largest = 0;
  for (size_t i = 0; i < c->file.count; i++)
    if (c->file.tensors[i].tensor.bytes > largest) largest = c->file.tensors[i].tensor.bytes;
  char *data = malloc(largest ? largest : 1);
  if (!data) return dp_fail(DP_EX_MEMORY, "%s: no memory for a tensor of %zu bytes", c->path, largest);
  uint64_t sum = 0;
  dp_status status = DP_OK;
  for (size_t i = 0; i < c->file.count && !status; i++) {
    const dp_safetensor *entry = &c->file.tensors[i];
    status = dp_safetensors_read(&c->file, entry, data);
    if (!status) sum += dp_checkpoint_hash(entry->name, data, entry->tensor.bytes);
  }
  free(data);
  if (!status && sum != c->record.tensors)
    status = dp_fail(EX_DATAERR, "%s/" DP_CHECKPOINT_WEIGHTS ": its content is not what was saved", c->path);
  return status;
}

dp_status dp_weights_checkpoint_open(dp_arena *arena, const char *path, dp_weights_checkpoint *c) {
  *c = (dp_weights_checkpoint){.path = path};
  DP_TRY(dp_checkpoint_record_read(arena, dp_printf(arena, "%s/" DP_CHECKPOINT_RECORD, path), &c->record));
  DP_TRY(dp_safetensors_open(arena, dp_printf(arena, "%s/" DP_CHECKPOINT_WEIGHTS, path), &c->file));
  dp_status status = check_tensors(c);
  if (status) dp_safetensors_close(&c->file);
  return status;
}

// ---- the newest that is whole ---------------------------------------------------------------------------------------

// Damage is a reason to take an older checkpoint. A disk that cannot be read now, or a lack of memory, is not.
static bool is_damage(dp_status status) {
  const int code = dp_status_code(status);
  return code == EX_DATAERR || code == EX_NOINPUT;
}

dp_status dp_weights_checkpoint_newest(dp_arena *arena, const char *folder, int *count, dp_weights_checkpoint *c) {
  int64_t *steps;
  *c = (dp_weights_checkpoint){0};
  DP_TRY(dp_checkpoints_list(arena, folder, &steps, count));
  for (int i = 0; i < *count; i++) {
    dp_status status = dp_weights_checkpoint_open(arena, dp_checkpoints_path(arena, folder, steps[i]), c);
    if (!status || !is_damage(status)) return status;
    fprintf(stderr, "passed over a damaged checkpoint: %s\n", dp_status_message(status));
    dp_status_free(status);
    c->path = NULL;
  }
  return DP_OK;
}

bool dp_weights_is_folder(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode);
}

// Either file tells that the folder is a checkpoint's: the other one may be lost.
static bool is_checkpoint(dp_arena *arena, const char *folder) {
  return !access(dp_printf(arena, "%s/" DP_CHECKPOINT_RECORD, folder), F_OK) ||
         !access(dp_printf(arena, "%s/" DP_CHECKPOINT_WEIGHTS, folder), F_OK);
}

dp_status dp_weights_checkpoint_find(dp_arena *arena, const char *folder, dp_weights_checkpoint *c) {
  int count;
  if (is_checkpoint(arena, folder)) return dp_weights_checkpoint_open(arena, folder, c);
  DP_TRY(dp_weights_checkpoint_newest(arena, folder, &count, c));
  if (!count)
    return dp_fail(EX_NOINPUT, "%s: the folder has no checkpoint: --save=FOLDER writes them to FOLDER/step-N", folder);
  return c->path ? DP_OK : dp_fail(EX_DATAERR, "%s: none of its %d checkpoints is whole", folder, count);
}
