// See kept.h.
#define _GNU_SOURCE
#include "tests/cuda/standin/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static bool is_own_folder(const char *path) {
  struct stat found;
  if (mkdir(path, 0700) && lstat(path, &found)) return false;
  return !lstat(path, &found) && S_ISDIR(found.st_mode) && found.st_uid == geteuid() && !(found.st_mode & 022);
}

char *kept_path(const char *const *command, const char *text) {
  const char *folder = getenv("DP_STANDIN_CODE");
  if (!folder || !*folder || !is_own_folder(folder)) return NULL;
  // The compiler that made this library is the one that it calls.
  XXH64_hash_t key = XXH3_64bits(__VERSION__, sizeof __VERSION__);
  for (int i = 0; command[i]; i++) key = XXH3_64bits_withSeed(command[i], strlen(command[i]) + 1, key);
  const XXH128_hash_t all = XXH3_128bits_withSeed(text, strlen(text), key);
  char *path;
  if (asprintf(&path, "%s/%016llx%016llx.so", folder, (unsigned long long)all.high64, (unsigned long long)all.low64) <
      0)
    return NULL;
  return path;
}

void kept_add(const char *path, const char *made) {
  char *there;
  if (asprintf(&there, "%s.%ld", path, (long)getpid()) < 0) return;
  // A copy: the two may be on different file systems.
  FILE *from = fopen(made, "rb"), *to = fopen(there, "wb");
  char bytes[1 << 16];
  size_t n = 0;
  bool whole = from && to;
  while (whole && (n = fread(bytes, 1, sizeof bytes, from))) whole = fwrite(bytes, 1, n, to) == n;
  if (from) whole &= !ferror(from) && !fclose(from);
  if (to) whole &= !fclose(to);
  if (!whole || rename(there, path)) unlink(there);
  free(there);
}
