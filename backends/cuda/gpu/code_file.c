// See code_file.h. A file has a header and then the code.
#define _GNU_SOURCE
#include "backends/cuda/gpu/code_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/whole.h"

enum { MAX_CODE_BYTES = 1 << 30 };

typedef struct {
  char magic[8];
  uint64_t key, bytes, code;  // hashes of the key and of the code, and the code's length
} header;

static header describe(const char *key, const char *code, size_t bytes) {
  return (header){"DPCUBIN", dp_hash64(key, strlen(key)), bytes, dp_hash64(code, bytes)};
}

// ---- reading --------------------------------------------------------------------------------------------------------

bool dp_cuda_code_is_private(const struct stat *file, bool or_root) {
  return (file->st_uid == geteuid() || (or_root && !file->st_uid)) && !(file->st_mode & 022);
}

bool dp_cuda_code_file_read(int file, const char *key, bool or_root, char **code, size_t *bytes) {
  struct stat about;
  header h;
  if (fstat(file, &about) || !S_ISREG(about.st_mode) || !dp_cuda_code_is_private(&about, or_root)) return false;
  if (!dp_read_whole(file, &h, sizeof h)) return false;
  if (!h.bytes || h.bytes > MAX_CODE_BYTES || (uint64_t)about.st_size != sizeof h + h.bytes) return false;
  char *taken = malloc(h.bytes);
  if (!taken || !dp_read_whole(file, taken, h.bytes)) {
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

bool dp_cuda_code_file_write(const char *path, const char *key, const char *code, size_t bytes) {
  char aside[PATH_MAX];
  if (snprintf(aside, sizeof aside, "%s.XXXXXX", path) >= (int)sizeof aside) return false;
  int file = mkostemp(aside, O_CLOEXEC);
  if (file < 0) return false;
  // Not synced: what a crash of the machine leaves is not what the header says, and is compiled again.
  const header h = describe(key, code, bytes);
  bool written = !fchmod(file, 0600) && dp_write_whole(file, &h, sizeof h) && dp_write_whole(file, code, bytes);
  written &= !close(file);
  written = written && !rename(aside, path);
  if (!written) unlink(aside);
  return written;
}
