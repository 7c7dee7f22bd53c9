// See cache.h.
#define _GNU_SOURCE
#include "backends/cuda/gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cuda/gpu/code_file.h"

enum { PATH_BYTES = 4096 };

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

bool dp_cuda_cache_find(const char *key, char **code, size_t *bytes) {
  char path[PATH_BYTES];
  if (!path_of(key, path)) return false;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  bool found = dp_cuda_code_file_read(file, key, false, code, bytes);
  close(file);
  return found;
}

// ---- keeping --------------------------------------------------------------------------------------------------------

void dp_cuda_cache_keep(const char *key, const char *code, size_t bytes) {
  char path[PATH_BYTES];
  if (path_of(key, path)) dp_cuda_code_file_write(path, key, code, bytes);
}
