// See spool.h.
#define _GNU_SOURCE
#include "ir/base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "ir/base/whole.h"

enum { CHUNK_BYTES = 1 << 16 };
static const size_t MAX_BYTES = (size_t)16 << 30;  // of a pipe, which may have no end

struct dp_spool {
  dev_t device;
  ino_t inode;
  FILE *file;  // all that came; NULL: not read yet
  dp_spool *next;
};
static dp_spool *spools;

static dp_spool *find(const struct stat *pipe) {
  dp_spool *s = spools;
  while (s && (s->device != pipe->st_dev || s->inode != pipe->st_ino)) s = s->next;
  return s;
}

dp_spool *dp_spool_add(const struct stat *pipe) {
  dp_spool *s = find(pipe);
  if (s) return s;
  s = malloc(sizeof *s);
  if (!s) return NULL;
  *s = (dp_spool){pipe->st_dev, pipe->st_ino, NULL, spools};
  return spools = s;
}

dp_spool *dp_spool_find(const char *path) {
  struct stat st;
  return spools && !stat(path, &st) && S_ISFIFO(st.st_mode) ? find(&st) : NULL;
}

// ---- reading a pipe to its end --------------------------------------------------------------------------------------

static const char *name_of(const char *path) { return dp_file_is_standard(path) ? "standard input" : path; }

static dp_status copy(int from, const char *name, int to) {
  static char chunk[CHUNK_BYTES];
  size_t total = 0;
  for (;;) {
    ssize_t r = read(from, chunk, sizeof chunk);
    if (r < 0 && errno == EINTR) return dp_fail(EX_TEMPFAIL, "interrupted while waiting for %s", name);
    if (r < 0) return dp_fail(EX_IOERR, "%s cannot be read: %s", name, strerror(errno));
    if (!r) return DP_OK;
    total += (size_t)r;
    if (total > MAX_BYTES) return dp_fail(EX_DATAERR, "%s has more than %zu bytes: put it in a file", name, MAX_BYTES);
    if (!dp_write_whole(to, chunk, (size_t)r))
      return dp_fail(EX_IOERR, "%s cannot be spooled to a temporary file: %s", name, strerror(errno));
  }
}

// A FIFO opens when somebody opens it to write.
static dp_status open_pipe(const char *path, int *fd) {
  *fd = dp_file_is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (*fd >= 0) return DP_OK;
  if (errno == EINTR) return dp_fail(EX_TEMPFAIL, "interrupted while waiting for %s", path);
  return dp_fail(EX_NOINPUT, "%s: cannot be read: %s", path, strerror(errno));
}

static dp_status fill(dp_spool *spool, const char *path) {
  int from;
  DP_TRY(open_pipe(path, &from));
  FILE *file = tmpfile();
  dp_status status =
      file ? copy(from, name_of(path), fileno(file))
           : dp_fail(EX_CANTCREAT, "%s cannot be spooled to a temporary file: %s", name_of(path), strerror(errno));
  if (from != STDIN_FILENO) close(from);
  if (status && file) fclose(file);
  if (!status) spool->file = file;
  return status;
}

// ---- reading what came ----------------------------------------------------------------------------------------------

dp_status dp_spool_reopen(int open_file, const char *name, int *fd, size_t *bytes) {
  char path[64];
  struct stat st;
  snprintf(path, sizeof path, "/proc/self/fd/%d", open_file);
  int f = open(path, O_RDONLY | O_CLOEXEC);
  if (f < 0 || fstat(f, &st)) {
    dp_status status = dp_fail(EX_NOINPUT, "%s cannot be read: %s", name, strerror(errno));
    if (f >= 0) close(f);
    return status;
  }
  *fd = f;
  *bytes = (size_t)st.st_size;
  return DP_OK;
}

dp_status dp_spool_open(dp_spool *spool, const char *path, int *fd, size_t *bytes) {
  if (!spool->file) DP_TRY(fill(spool, path));
  return dp_spool_reopen(fileno(spool->file), name_of(path), fd, bytes);
}
