// See cache.h. A file has a header and then the code.
#define _GNU_SOURCE
#include "backends/cuda/gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAX_CODE_BYTES = 1 << 30 };

typedef struct {
  char magic[8];
  uint64_t key, bytes, code;  // hashes of the key and of the code, and the code's length
} header;

static header describe(const char *key, const char *code, size_t bytes) {
  return (header){"DPCUBIN", dp_hash64(key, strlen(key)), bytes, dp_hash64(code, bytes)};
}

// ---- the folder -----------------------------------------------------------------------------------------------------

// A folder that was there stays as it is.
static bool make_folder(const char *path) {
  if (mkdir(path, 0700)) return errno == EEXIST;
  return !chmod(path, 0700);
}

// The path of a key's file; false: there is no folder for it.
static bool path_of(const char *key, char path[PATH_BYTES]) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = cache && *cache == '/' ? snprintf(path, PATH_BYTES, "%s", cache)
               : home && *home == '/' ? snprintf(path, PATH_BYTES, "%s/.cache", home)
                                      : -1;
  const size_t rest = strlen("/dp/") + strlen(key) + sizeof ".XXXXXX";
  if (length < 0 || (size_t)length + rest > PATH_BYTES || !make_folder(path)) return false;
  strcpy(path + length, "/dp");
  if (!make_folder(path)) return false;
  strcat(strcat(path, "/"), key);
  return true;
}

// ---- finding --------------------------------------------------------------------------------------------------------

static bool read_all(int file, void *to, size_t bytes) {
  for (size_t got = 0; got < bytes;) {
    ssize_t n = read(file, (char *)to + got, bytes - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += (size_t)n;
  }
  return true;
}

static bool is_private(const struct stat *file) {
  return S_ISREG(file->st_mode) && file->st_uid == geteuid() && !(file->st_mode & 022);
}

static bool take(int file, const char *key, char **code, size_t *bytes) {
  struct stat about;
  header h;
  if (fstat(file, &about) || !is_private(&about) || !read_all(file, &h, sizeof h)) return false;
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

bool dp_cuda_cache_find(const char *key, char **code, size_t *bytes) {
  char path[PATH_BYTES];
  if (!path_of(key, path)) return false;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  bool found = take(file, key, code, bytes);
  close(file);
  return found;
}

// ---- keeping --------------------------------------------------------------------------------------------------------

static bool write_all(int file, const void *from, size_t bytes) {
  for (size_t put = 0; put < bytes;) {
    ssize_t n = write(file, (const char *)from + put, bytes - put);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    put += (size_t)n;
  }
  return true;
}

void dp_cuda_cache_keep(const char *key, const char *code, size_t bytes) {
  char path[PATH_BYTES], aside[PATH_BYTES];
  if (!path_of(key, path)) return;
  strcat(strcpy(aside, path), ".XXXXXX");
  int file = mkostemp(aside, O_CLOEXEC);
  if (file < 0) return;
  // Not synced: what a crash of the machine leaves is not what the header says, and is compiled again.
  const header h = describe(key, code, bytes);
  bool written = !fchmod(file, 0600) && write_all(file, &h, sizeof h) && write_all(file, code, bytes);
  written &= !close(file);
  if (!written || rename(aside, path)) unlink(aside);
}
