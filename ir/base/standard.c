// Standard input, spooled to an unnamed temporary file when it is a pipe. See standard.h.
#define _GNU_SOURCE
#include "ir/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 16 };
static const size_t MAX_BYTES = (size_t)16 << 30;  // of a pipe, which may have no end

// All bytes are written, or it fails.
static dp_status write_spool(int to, const char *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t r = write(to, data + done, bytes - done);
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) return dp_fail(EX_IOERR, "standard input cannot be spooled to a temporary file: %s", strerror(errno));
    done += (size_t)r;
  }
  return DP_OK;
}

static dp_status spool_input(int to) {
  static char chunk[CHUNK_BYTES];
  size_t total = 0;
  for (;;) {
    ssize_t r = read(STDIN_FILENO, chunk, sizeof chunk);
    if (r < 0 && errno == EINTR) return dp_fail(EX_TEMPFAIL, "interrupted while waiting for standard input");
    if (r < 0) return dp_fail(EX_IOERR, "standard input cannot be read: %s", strerror(errno));
    if (!r) return DP_OK;
    total += (size_t)r;
    if (total > MAX_BYTES)
      return dp_fail(EX_DATAERR, "standard input has more than %zu bytes: put it in a file", MAX_BYTES);
    DP_TRY(write_spool(to, chunk, (size_t)r));
  }
}

static dp_status spool(FILE **file) {
  FILE *f = tmpfile();
  if (!f) return dp_fail(EX_CANTCREAT, "standard input cannot be spooled to a temporary file: %s", strerror(errno));
  dp_status status = spool_input(fileno(f));
  if (status)
    fclose(f);
  else
    *file = f;
  return status;
}

dp_status dp_file_open_input(int *fd, size_t *bytes) {
  static FILE *spooled;
  struct stat st;
  char path[64];
  if (fstat(STDIN_FILENO, &st)) return dp_fail(EX_NOINPUT, "standard input cannot be read: %s", strerror(errno));
  if (fcntl(STDIN_FILENO, F_GETFL) >= 0 && (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
    return dp_fail(EX_NOINPUT, "standard input is closed");
  if (S_ISDIR(st.st_mode) || isatty(STDIN_FILENO))
    return dp_fail(EX_DATAERR, "standard input is a %s; - expects a file or a pipe",
                   S_ISDIR(st.st_mode) ? "folder" : "terminal");
  if (!S_ISREG(st.st_mode) && !spooled) DP_TRY(spool(&spooled));
  // Opened by its name in /proc, so that each reader starts at the beginning.
  snprintf(path, sizeof path, "/proc/self/fd/%d", spooled ? fileno(spooled) : STDIN_FILENO);
  int f = open(path, O_RDONLY | O_CLOEXEC);
  if (f < 0 || fstat(f, &st)) {
    dp_status status = dp_fail(EX_NOINPUT, "standard input cannot be read: %s", strerror(errno));
    if (f >= 0) close(f);
    return status;
  }
  *fd = f;
  *bytes = (size_t)st.st_size;
  return DP_OK;
}
