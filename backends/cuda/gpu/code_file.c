// See code_file.h. A file has a header and then the code.
#define _GNU_SOURCE
#include "backends/cuda/gpu/code_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CODE_BYTES = 1 << 30 };

typedef struct {
  char magic[8];
  uint64_t key, bytes, code;  // hashes of the key and of the code, and the code's length
} header;

static header describe(const char *key, const char *code, size_t bytes) {
  return (header){"DPCUBIN", dp_hash64(key, strlen(key)), bytes, dp_hash64(code, bytes)};
}

// ---- reading --------------------------------------------------------------------------------------------------------

static bool read_all(int file, void *to, size_t bytes) {
  for (size_t got = 0; got < bytes;) {
    ssize_t n = read(file, (char *)to + got, bytes - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

bool dp_cuda_code_is_private(const struct stat *file, bool or_root) {
  return (file->st_uid == geteuid() || (or_root && !file->st_uid)) && !(file->st_mode & 022);
}

bool dp_cuda_code_file_read(int file, const char *key, bool or_root, char **code, size_t *bytes) {
  struct stat about;
  header h;
  if (fstat(file, &about) || !S_ISREG(about.st_mode) || !dp_cuda_code_is_private(&about, or_root)) return false;
  if (!read_all(file, &h, sizeof h)) return false;
  if (!h.bytes || h.bytes > MAX_CODE_BYTES || (uint64_t)about.st_size != sizeof h + h.bytes) return false;
  char *taken = malloc(h.bytes);
  if (!taken || !read_all(file, taken, h.bytes)) {
    free(taken);
    return false;
  }
  const header expected = describe(key, taken, h.bytes);
  if (memcmp(&h, &expected, sizeof h)) {
    free(taken);
    return false;
  }
  *code = taken;
  *bytes = h.bytes;
  return true;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static bool write_all(int file, const void *from, size_t bytes) {
  for (size_t put = 0; put < bytes;) {
    ssize_t n = write(file, (const char *)from + put, bytes - put);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    put += (size_t)n;
  }
  return true;
}

bool dp_cuda_code_file_write(const char *path, const char *key, const char *code, size_t bytes) {
  char aside[PATH_MAX];
  if (snprintf(aside, sizeof aside, "%s.XXXXXX", path) >= (int)sizeof aside) return false;
  int file = mkostemp(aside, O_CLOEXEC);
  if (file < 0) return false;
  // Not synced: what a crash of the machine leaves is not what the header says, and is compiled again.
  const header h = describe(key, code, bytes);
  bool written = !fchmod(file, 0600) && write_all(file, &h, sizeof h) && write_all(file, code, bytes);
  written &= !close(file);
  written = written && !rename(aside, path);
  if (!written) unlink(aside);
  return written;
}
