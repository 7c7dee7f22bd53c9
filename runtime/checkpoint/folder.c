// See folder.h.
#define _GNU_SOURCE
#include "runtime/checkpoint/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A checkpoint's names. The dot hides the two that are not whole.
#define WHOLE "step-%" PRId64
static const char saving[] = "saving", deleting[] = "deleting";
static const char best[] = "best", new_best[] = ".best.saving";

enum { NAME_BYTES = 64 };

typedef struct {
  char text[NAME_BYTES];
} name;

static name whole(int64_t step) {
  name n;
  snprintf(n.text, sizeof n.text, WHOLE, step);
  return n;
}

static name hidden(int64_t step, const char *ending) {
  name n;
  snprintf(n.text, sizeof n.text, "." WHOLE ".%s", step, ending);
  return n;
}

// The step in a name; -1: not one of ours. Reading it back must give the same name: step-007 and step-7x are not ours.
static int64_t step_of(const char *text) {
  if (strncmp(text, "step-", 5)) return -1;
  const int64_t step = strtoll(text + 5, NULL, 10);
  return step >= 0 && !strcmp(whole(step).text, text) ? step : -1;
}

static bool is_hidden(const char *text) {
  if (strncmp(text, ".step-", 6)) return false;
  const int64_t step = strtoll(text + 6, NULL, 10);
  return !strcmp(hidden(step, saving).text, text) || !strcmp(hidden(step, deleting).text, text);
}

// ---- listing --------------------------------------------------------------------------------------------------------

static int newest_first(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

// *steps is from malloc.
static dp_status list(const char *folder, int64_t **steps, int *count) {
  *steps = NULL;
  *count = 0;
  DIR *dir = opendir(folder);
  if (!dir && errno == ENOENT) return DP_OK;
  if (!dir) return dp_fail(EX_NOINPUT, "%s: cannot be read: %s", folder, strerror(errno));
  dp_status status = DP_OK;
  for (const struct dirent *e; !status && (e = readdir(dir));) {
    const int64_t step = step_of(e->d_name);
    if (step < 0) continue;
    int64_t *more = realloc(*steps, (size_t)(*count + 1) * sizeof *more);
    if (!more) {
      status = dp_fail(DP_EX_MEMORY, "%s: out of memory while it was read", folder);
      break;
    }
    *steps = more;
    more[(*count)++] = step;
  }
  closedir(dir);
  if (*count) qsort(*steps, (size_t)*count, sizeof **steps, newest_first);
  if (status) free(*steps);
  return status;
}

dp_status dp_checkpoints_list(dp_arena *arena, const char *folder, int64_t **steps, int *count) {
  int64_t *found;
  int n;
  DP_TRY(list(folder, &found, &n));
  *steps = dp_arena_adopt(arena, found);
  *count = n;
  return DP_OK;
}

const char *dp_checkpoints_path(dp_arena *arena, const char *folder, int64_t step) {
  const size_t length = strlen(folder);
  return dp_printf(arena, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", whole(step).text);
}

// ---- deleting -------------------------------------------------------------------------------------------------------

// Removes a folder and the files in it, as far as that goes. What remains is tried again next time.
static void remove_folder(const dp_checkpoints *folder, const char *folder_name) {
  int fd = openat(folder->fd, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) close(fd);
    return;
  }
  for (const struct dirent *e; (e = readdir(dir));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(fd, e->d_name, 0);
  closedir(dir);
  unlinkat(folder->fd, folder_name, AT_REMOVEDIR);
}

// Removes everything that is half written or half deleted.
static void sweep(const dp_checkpoints *folder) {
  int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) close(fd);
    return;
  }
  for (const struct dirent *e; (e = readdir(dir));)
    if (is_hidden(e->d_name)) remove_folder(folder, e->d_name);
  closedir(dir);
}

// Takes a checkpoint away in one step, so that none is ever seen half deleted.
static dp_status take_away(const dp_checkpoints *folder, int64_t step) {
  const name from = whole(step), to = hidden(step, deleting);
  remove_folder(folder, to.text);
  if (!renameat(folder->fd, from.text, folder->fd, to.text) || errno == ENOENT) return DP_OK;
  return dp_fail(EX_IOERR, "%s/%s: cannot be deleted: %s", folder->path, from.text, strerror(errno));
}

// The step that the link points to; -1: there is none.
static int64_t best_step(const dp_checkpoints *folder) {
  char to[NAME_BYTES];
  const ssize_t length = readlinkat(folder->fd, best, to, sizeof to - 1);
  if (length < 0) return -1;
  to[length] = 0;
  return step_of(to);
}

dp_status dp_checkpoints_set_best(const dp_checkpoints *folder, int64_t step) {
  if (best_step(folder) == step) return DP_OK;
  const name to = whole(step);
  unlinkat(folder->fd, new_best, 0);
  if (symlinkat(to.text, folder->fd, new_best) || renameat(folder->fd, new_best, folder->fd, best))
    return dp_fail(EX_IOERR, "%s/%s: cannot be made to point to %s: %s", folder->path, best, to.text, strerror(errno));
  return dp_file_sync_folder(folder->path);
}

dp_status dp_checkpoints_prune(const dp_checkpoints *folder, int64_t newest, int64_t keep) {
  const int64_t at_best = best_step(folder);
  int64_t *steps, kept = 0;
  int count;
  DP_TRY(list(folder->path, &steps, &count));
  dp_status status = DP_OK;
  for (int i = 0; i < count && !status; i++)
    if (steps[i] <= newest && kept++ >= keep && steps[i] != at_best) status = take_away(folder, steps[i]);
  free(steps);
  sweep(folder);
  return status;
}

// ---- opening --------------------------------------------------------------------------------------------------------

static dp_status make_folder(const char *path) {
  const bool made = !mkdir(path, 0777);
  if (!made && errno != EEXIST) return dp_fail(EX_CANTCREAT, "%s: cannot be made: %s", path, strerror(errno));
  dp_status status = dp_file_sync_folder_of(path);
  if (made) return status;
  // Whoever made it may not have come to this, or it is not ours to do.
  dp_status_free(status);
  return DP_OK;
}

dp_status dp_checkpoints_open(const char *path, dp_checkpoints *folder) {
  dp_checkpoints f = {path, -1};
  DP_TRY(make_folder(path));
  f.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (f.fd < 0 || faccessat(f.fd, ".", W_OK | X_OK, AT_EACCESS)) {
    dp_status status = dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(errno));
    dp_checkpoints_close(&f);
    return status;
  }
  // A file system without locks is used without one.
  if (flock(f.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    dp_checkpoints_close(&f);
    return dp_fail(EX_CANTCREAT, "%s: another process is saving its checkpoints there: name another folder", path);
  }
  sweep(&f);
  *folder = f;
  return DP_OK;
}

void dp_checkpoints_close(dp_checkpoints *folder) {
  if (folder->fd >= 0) close(folder->fd);
  folder->fd = -1;
}

// ---- saving ---------------------------------------------------------------------------------------------------------

// The source of the tensors, with the hash of what has gone through it.
typedef struct {
  const dp_safetensor *tensors;
  dp_safetensors_source *source;
  void *context;
  uint64_t hash;
} hashing;

static dp_status hash_next(void *context, size_t index, const void **data) {
  hashing *h = context;
  const dp_safetensor *t = &h->tensors[index];
  DP_TRY(h->source(h->context, index, data));
  h->hash += dp_checkpoint_hash(t->name, *data, t->tensor.bytes);
  return DP_OK;
}

// folder/file, in `path`.
static dp_status join(const char *folder, const char *file, char path[PATH_MAX]) {
  return snprintf(path, PATH_MAX, "%s/%s", folder, file) < PATH_MAX
             ? DP_OK
             : dp_fail(EX_CANTCREAT, "%s: the path is too long", folder);
}

static dp_status write_files(const char *aside, dp_checkpoint_record *record, const dp_safetensor *tensors,
                             size_t count, hashing *h) {
  char path[PATH_MAX];
  DP_TRY(join(aside, DP_CHECKPOINT_WEIGHTS, path));
  DP_TRY(dp_safetensors_write_from(path, tensors, count, hash_next, h));
  record->tensors = h->hash;
  DP_TRY(join(aside, DP_CHECKPOINT_RECORD, path));
  return dp_checkpoint_record_write(record, path);
}

// The writes of both files have synced the folder that holds them.
static dp_status put_in_place(const dp_checkpoints *folder, int64_t step) {
  const name from = hidden(step, saving), to = whole(step);
  DP_TRY(take_away(folder, step));
  if (renameat(folder->fd, from.text, folder->fd, to.text))
    return dp_fail(EX_IOERR, "%s/%s: cannot be written: %s", folder->path, to.text, strerror(errno));
  return dp_file_sync_folder(folder->path);
}

dp_status dp_checkpoints_save(const dp_checkpoints *folder, dp_checkpoint_record *record, const dp_safetensor *tensors,
                              size_t count, dp_safetensors_source *source, void *context) {
  const name aside = hidden(record->step, saving);
  char path[PATH_MAX];
  DP_TRY(join(folder->path, aside.text, path));
  sweep(folder);
  if (mkdirat(folder->fd, aside.text, 0777))
    return dp_fail(EX_CANTCREAT, "%s: cannot be made: %s", path, strerror(errno));
  hashing h = {tensors, source, context, 0};
  dp_status status = write_files(path, record, tensors, count, &h);
  if (!status) status = put_in_place(folder, record->step);
  if (status) remove_folder(folder, aside.text);
  return status;
}

dp_status dp_checkpoints_amend(const dp_checkpoints *folder, const dp_checkpoint_record *record) {
  char path[PATH_MAX], file[PATH_MAX];
  DP_TRY(join(folder->path, whole(record->step).text, path));
  DP_TRY(join(path, DP_CHECKPOINT_RECORD, file));
  return dp_checkpoint_record_write(record, file);
}
