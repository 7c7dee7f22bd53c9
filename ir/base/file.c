// Reading regular files and replacing files whole. See file.h.
#define _GNU_SOURCE
#include "ir/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/machine.h"
#include "ir/base/spool.h"
#include "ir/base/standard.h"

enum { BUFFER_BYTES = 1 << 16 };
// Past the page cache, memory, places and lengths must be multiples of the disk's blocks.
enum { DIRECT_BYTES = 1 << 20, BLOCK_BYTES = 4096 };

bool dp_file_is_standard(const char *path) { return !strcmp(path, "-"); }

dp_status dp_file_allow_pipe(const char *path) {
  struct stat st;
  if (!path || dp_file_is_standard(path) || stat(path, &st) || !S_ISFIFO(st.st_mode)) return DP_OK;
  return dp_spool_add(&st) ? DP_OK : dp_fail(DP_EX_MEMORY, "%s: out of memory before it was read", path);
}

bool dp_file_is_stream(const char *path) { return dp_file_is_standard(path) || dp_spool_find(path); }

// Opens without blocking on a FIFO that was not allowed, and examines the open file rather than its name.
dp_status dp_file_open(const char *path, int *fd, size_t *bytes) {
  if (dp_file_is_standard(path)) return dp_file_open_input(fd, bytes);
  dp_spool *spool = dp_spool_find(path);
  if (spool) return dp_spool_open(spool, path, fd, bytes);
  int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (f < 0) return dp_fail(EX_NOINPUT, "%s: cannot be read: %s", path, strerror(errno));
  struct stat st;
  if (fstat(f, &st) || !S_ISREG(st.st_mode)) {
    close(f);
    return dp_fail(EX_DATAERR, "%s: not a regular file", path);
  }
  *fd = f;
  *bytes = (size_t)st.st_size;
  return DP_OK;
}

dp_status dp_file_read(dp_arena *arena, const char *path, size_t max_bytes, uint8_t **data, size_t *bytes) {
  int fd;
  size_t size, limit = max_bytes ? max_bytes : (size_t)1 << 31;
  DP_TRY(dp_file_open(path, &fd, &size));
  if (size > limit) {
    close(fd);
    return dp_fail(EX_DATAERR, "%s: too large: %zu bytes, the limit is %zu", path, size, limit);
  }
  // malloc first: an arena allocation that fails would leak the descriptor.
  uint8_t *buffer = malloc(size + 1);
  if (!buffer) {
    close(fd);
    return dp_fail(DP_EX_MEMORY, "%s: out of memory: cannot hold its %zu bytes", path, size);
  }
  dp_machine_want_large_pages(buffer, size);
  size_t got = 0;
  while (got < size) {
    ssize_t r = read(fd, buffer + got, size - got);
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) break;
    got += (size_t)r;
  }
  int error = errno;
  close(fd);
  if (got < size) {
    free(buffer);
    return dp_fail(EX_IOERR, "%s: ends after %zu of %zu bytes: %s", path, got, size, strerror(error));
  }
  buffer[size] = 0;
  *data = dp_arena_adopt(arena, buffer);
  *bytes = size;
  return DP_OK;
}

dp_status dp_file_reader_open(const char *path, dp_file_reader *reader) {
  dp_file_reader r = {.fd = -1};
  DP_TRY(dp_file_open(path, &r.fd, &r.bytes));
  r.path = strdup(path);
  if (!r.path) {
    close(r.fd);
    return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was read", path);
  }
  *reader = r;
  return DP_OK;
}

dp_status dp_file_reader_read(const dp_file_reader *reader, uint64_t at, void *data, size_t bytes) {
  size_t got = 0;
  while (got < bytes) {
    ssize_t r = pread(reader->fd, (char *)data + got, bytes - got, (off_t)(at + got));
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return dp_fail(EX_IOERR, "%s: cannot be read: %s", reader->path, strerror(errno));
    if (!r)
      return dp_fail(EX_IOERR, "%s: ends after %llu of %zu bytes: it was truncated while it was read", reader->path,
                     (unsigned long long)(at + got), reader->bytes);
    got += (size_t)r;
  }
  return DP_OK;
}

void dp_file_reader_close(dp_file_reader *reader) {
  if (reader->path) close(reader->fd);
  free(reader->path);
  *reader = (dp_file_reader){.fd = -1};
}

// ---- writing --------------------------------------------------------------------------------------------------------

static dp_status open_output(dp_file_writer *w) {
  fflush(stdout);  // + what was printed comes first
  w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (w->fd >= 0) return DP_OK;
  free(w->path);
  free(w->buffer);
  return dp_fail(EX_CANTCREAT, "standard output cannot be written: %s", strerror(errno));
}

dp_status dp_file_writer_open(const char *path, dp_file_writer *writer) {
  dp_file_writer w = {.fd = -1};
  w.path = strdup(path);
  w.room = BUFFER_BYTES;
  w.buffer = malloc(w.room);
  bool standard = dp_file_is_standard(path);
  if (!w.path || !w.buffer || (!standard && asprintf(&w.temporary, "%s.XXXXXX", path) < 0)) {
    free(w.path);
    free(w.buffer);
    return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  }
  if (standard) {
    DP_TRY(open_output(&w));
    *writer = w;
    return DP_OK;
  }
  w.fd = mkostemp(w.temporary, O_CLOEXEC);
  struct stat st;
  // The rename would replace a target that is not a regular file (a device, a directory).
  bool odd = !stat(path, &st) && !S_ISREG(st.st_mode);
  if (w.fd < 0 || odd) {
    dp_status status =
        dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, odd ? "it is not a regular file" : strerror(errno));
    if (w.fd >= 0) {
      close(w.fd);
      unlink(w.temporary);
    }
    free(w.temporary);
    free(w.path);
    free(w.buffer);
    return status;
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)!fchmod(w.fd, 0666 & ~mask);
  *writer = w;
  return DP_OK;
}

void dp_file_writer_bypass_cache(dp_file_writer *writer) {
  void *buffer;
  const int flags = fcntl(writer->fd, F_GETFL);
  if (!writer->temporary || flags < 0 || posix_memalign(&buffer, BLOCK_BYTES, DIRECT_BYTES)) return;
  if (fcntl(writer->fd, F_SETFL, flags | O_DIRECT)) {
    free(buffer);
    return;
  }
  free(writer->buffer);
  writer->buffer = buffer;
  writer->room = DIRECT_BYTES;
  writer->direct = true;
}

// Whether the file was written past the page cache, and no longer is.
static bool use_cache(dp_file_writer *writer) {
  const int flags = writer->direct ? fcntl(writer->fd, F_GETFL) : -1;
  writer->direct = false;
  return flags >= 0 && !fcntl(writer->fd, F_SETFL, flags & ~O_DIRECT);
}

static dp_status write_fully(dp_file_writer *writer, const uint8_t *data, size_t bytes) {
  while (bytes) {
    ssize_t r = write(writer->fd, data, bytes);
    if (r < 0 && errno == EINTR && !writer->temporary)
      return dp_fail(EX_TEMPFAIL, "interrupted while waiting for standard output");
    if (r < 0 && errno == EINTR) continue;
    // Some file systems accept the flag and then no write; and after a short write, the rest begins anywhere.
    if (r < 0 && errno == EINVAL && use_cache(writer)) continue;
    if (r <= 0) return dp_fail(EX_IOERR, "%s: cannot be written: %s", writer->path, strerror(errno));
    data += r;
    bytes -= (size_t)r;
  }
  return DP_OK;
}

static dp_status flush(dp_file_writer *writer) {
  size_t bytes = writer->buffered;
  if (bytes % BLOCK_BYTES) use_cache(writer);  // the end of the file
  writer->buffered = 0;
  return write_fully(writer, writer->buffer, bytes);
}

// Everything goes through the buffer, which is written when it is full.
static dp_status write_blocks(dp_file_writer *writer, const uint8_t *data, size_t bytes) {
  while (bytes) {
    const size_t left = writer->room - writer->buffered, part = bytes < left ? bytes : left;
    memcpy(writer->buffer + writer->buffered, data, part);
    writer->buffered += part;
    data += part;
    bytes -= part;
    if (writer->buffered == writer->room) DP_TRY(flush(writer));
  }
  return DP_OK;
}

dp_status dp_file_writer_write(dp_file_writer *writer, const void *data, size_t bytes) {
  if (writer->direct) return write_blocks(writer, data, bytes);
  if (writer->buffered + bytes > writer->room) DP_TRY(flush(writer));
  if (bytes > writer->room) return write_fully(writer, data, bytes);
  if (bytes) memcpy(writer->buffer + writer->buffered, data, bytes);
  writer->buffered += bytes;
  return DP_OK;
}

static void forget(dp_file_writer *writer) {
  free(writer->path);
  free(writer->temporary);
  free(writer->buffer);
  *writer = (dp_file_writer){.fd = -1};
}

void dp_file_writer_abandon(dp_file_writer *writer) {
  close(writer->fd);
  if (writer->temporary) unlink(writer->temporary);
  forget(writer);
}

static int sync_file(int fd) {
  int r;
  do r = fsync(fd);
  while (r && errno == EINTR);
  return r;
}

dp_status dp_file_sync_folder(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems cannot sync a folder and say so by EINVAL: there is nothing more to do for it.
  int error = fd < 0 || (sync_file(fd) && errno != EINVAL) ? errno : 0;
  if (fd >= 0) close(fd);
  return error ? dp_fail(EX_IOERR, "%s: cannot be synced to disk: %s", path, strerror(error)) : DP_OK;
}

dp_status dp_file_sync_folder_of(const char *path) {
  char copy[PATH_MAX];  // no allocation, which could fail when the new content is already there
  if (strlen(path) >= sizeof copy)
    return dp_fail(EX_IOERR, "%s: cannot be synced to disk: %s", path, strerror(ENAMETOOLONG));
  return dp_file_sync_folder(dirname(strcpy(copy, path)));
}

dp_status dp_file_writer_settle(dp_file_writer *writer) {
  DP_TRY(flush(writer));
  if (!writer->temporary || !sync_file(writer->fd)) return DP_OK;
  return dp_fail(EX_IOERR, "%s: cannot be written: %s", writer->path, strerror(errno));
}

dp_status dp_file_writer_commit(dp_file_writer *writer) {
  dp_status status = dp_file_writer_settle(writer);
  if (!status && writer->temporary && rename(writer->temporary, writer->path))
    status = dp_fail(EX_IOERR, "%s: cannot be written: %s", writer->path, strerror(errno));
  if (status) {
    dp_file_writer_abandon(writer);
    return status;
  }
  close(writer->fd);
  if (writer->temporary) status = dp_file_sync_folder_of(writer->path);
  forget(writer);
  return status;
}

dp_status dp_file_write(const char *path, const void *data, size_t bytes) {
  dp_file_writer writer;
  DP_TRY(dp_file_writer_open(path, &writer));
  dp_status status = dp_file_writer_write(&writer, data, bytes);
  if (!status) return dp_file_writer_commit(&writer);
  dp_file_writer_abandon(&writer);
  return status;
}
