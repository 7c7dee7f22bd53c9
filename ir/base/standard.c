// See standard.h.
#define _GNU_SOURCE
#include "ir/base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/spool.h"

dp_status dp_file_open_input(int *fd, size_t *bytes) {
  struct stat st;
  if (fstat(STDIN_FILENO, &st)) return dp_fail(EX_NOINPUT, "standard input cannot be read: %s", strerror(errno));
  if (fcntl(STDIN_FILENO, F_GETFL) >= 0 && (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
    return dp_fail(EX_NOINPUT, "standard input is closed");
  if (S_ISDIR(st.st_mode) || isatty(STDIN_FILENO))
    return dp_fail(EX_DATAERR, "standard input is a %s; - expects a file or a pipe",
                   S_ISDIR(st.st_mode) ? "folder" : "terminal");
  if (S_ISREG(st.st_mode)) return dp_spool_reopen(STDIN_FILENO, "standard input", fd, bytes);
  dp_spool *spool = dp_spool_add(&st);
  if (!spool) return dp_fail(DP_EX_MEMORY, "out of memory while standard input was read");
  return dp_spool_open(spool, "-", fd, bytes);
}
