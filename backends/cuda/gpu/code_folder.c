// See code_folder.h. A file for each program, compute capability and major version of CUDA.
#define _GNU_SOURCE
#include "backends/cuda/gpu/code_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/gpu/code_file.h"
#include "backends/cuda/gpu/nvrtc.h"

enum { KEY_BYTES = 64 };
#define VARIABLE "DP_CUDA_CODE"
#define BESIDE "cuda_code"

// Versions of CUDA whose NVRTC there may be: code of each loads on drivers of the same and of newer ones alone.
enum { OLDEST_CUDA = 12, NEWEST_CUDA = 13 };

static void print_key(const char *program, int major, int minor, int cuda, char key[KEY_BYTES]) {
  snprintf(key, KEY_BYTES, "%016llx-sm_%d%d-cuda%d-%d.cubin", (unsigned long long)dp_hash64(program, strlen(program)),
           major, minor, cuda, DP_CUDA_NVRTC_OPTIONS);
}

// ---- finding --------------------------------------------------------------------------------------------------------

// The folder that the environment names, if it is set, else one beside the program, if there is one; NULL: neither.
static const char *look_for_folder(char beside[PATH_MAX]) {
  const char *named = getenv(VARIABLE);
  if (named) return *named ? named : NULL;
  const ssize_t length = readlink("/proc/self/exe", beside, PATH_MAX - sizeof BESIDE);
  if (length <= 0 || length >= PATH_MAX - (ssize_t)sizeof BESIDE) return NULL;
  beside[length] = 0;
  char *name = strrchr(beside, '/');
  if (!name) return NULL;
  strcpy(name + 1, BESIDE);
  return access(beside, F_OK) ? NULL : beside;
}

static dp_status open_folder(const char *path, int *folder) {
  const char *named = getenv(VARIABLE) ? VARIABLE "=" : "";
  struct stat about;
  *folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (*folder < 0 || fstat(*folder, &about)) {
    if (*folder >= 0) close(*folder);
    return dp_fail(EX_NOINPUT, "%s%s: %s", named, path, strerror(errno));
  }
  if (dp_cuda_code_is_private(&about, true)) return DP_OK;
  close(*folder);
  return dp_fail(EX_CONFIG,
                 "%s%s: others than you and root may write there, and what it holds would be run: take their right "
                 "away (chmod go-w), or copy it to a folder of your own",
                 named, path);
}

static dp_status refuse(const char *path, const char *key, int file) {
  struct stat about;
  if (!fstat(file, &about) && dp_cuda_code_is_private(&about, true))
    return dp_fail(EX_DATAERR, "%s/%s is damaged: make it again (dprun --make-code)", path, key);
  return dp_fail(EX_CONFIG, "%s/%s may be written by others than you and root, and what it holds would be run", path,
                 key);
}

static dp_status find_in(int folder, const char *path, const char *key, char **code, size_t *bytes, bool *found) {
  int file = openat(folder, key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0 && errno == ENOENT) return DP_OK;
  if (file < 0) return dp_fail(EX_NOINPUT, "%s/%s: %s", path, key, strerror(errno));
  *found = dp_cuda_code_file_read(file, key, true, code, bytes);
  dp_status status = *found ? DP_OK : refuse(path, key, file);
  close(file);
  return status;
}

dp_status dp_cuda_code_folder_find(const char *program, int major, int minor, char **code, size_t *bytes, bool *found) {
  char beside[PATH_MAX];
  const char *path = look_for_folder(beside);
  int folder;
  *found = false;
  if (!path) return DP_OK;
  DP_TRY(open_folder(path, &folder));
  dp_status status = DP_OK;
  const int newest = dp_cuda_library_most() < NEWEST_CUDA ? dp_cuda_library_most() : NEWEST_CUDA;
  // sm_87 is no older minor version, but a kind of its own (Jetson).
  for (int older = minor; older >= 0; older--) {
    if (major == 8 && older == 7 && minor != 7) continue;
    for (int cuda = newest; cuda >= OLDEST_CUDA && !*found && !status; cuda--) {
      char key[KEY_BYTES];
      print_key(program, major, older, cuda, key);
      status = find_in(folder, path, key, code, bytes, found);
    }
  }
  close(folder);
  return status;
}

// ---- putting --------------------------------------------------------------------------------------------------------

dp_status dp_cuda_code_folder_make(const char *folder) {
  if (!mkdir(folder, 0700) || errno == EEXIST) return DP_OK;
  return dp_fail(EX_CANTCREAT, "%s: %s", folder, strerror(errno));
}

dp_status dp_cuda_code_folder_put(const char *folder, const char *program, int major, int minor, const char *code,
                                  size_t bytes) {
  char key[KEY_BYTES], path[PATH_MAX];
  int cuda, minor_cuda;
  DP_TRY(dp_cuda_nvrtc_version(&cuda, &minor_cuda));
  print_key(program, major, minor, cuda, key);
  const bool fits = snprintf(path, sizeof path, "%s/%s", folder, key) < (int)sizeof path;
  if (fits && dp_cuda_code_file_write(path, key, code, bytes)) return DP_OK;
  return dp_fail(EX_CANTCREAT, "%s/%s cannot be written: %s", folder, key, strerror(fits ? errno : ENAMETOOLONG));
}
