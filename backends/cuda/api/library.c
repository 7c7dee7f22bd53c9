// See library.h.
#define _GNU_SOURCE
#include "backends/cuda/api/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static void *open_in(const char *folder, const char *soname) {
  char path[PATH_BYTES];
  int length = snprintf(path, sizeof path, "%s/%s", folder, soname);
  return length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

// Where Python keeps its wheels: the virtual environment, the user's and the system's packages.
static void *open_in_wheels(const char *folder, const char *soname) {
  static const char *const roots[][2] = {
      {"VIRTUAL_ENV", "/lib/python3*/site-packages"}, {"CONDA_PREFIX", "/lib/python3*/site-packages"},
      {"HOME", "/.local/lib/python3*/site-packages"}, {NULL, "/usr/local/lib/python3*/*-packages"},
      {NULL, "/usr/lib/python3*/*-packages"},
  };
  void *library = NULL;
  for (size_t i = 0; i < DP_COUNT(roots) && !library; i++) {
    const char *root = roots[i][0] ? getenv(roots[i][0]) : "";
    char pattern[PATH_BYTES];
    if (!root || snprintf(pattern, sizeof pattern, "%s%s/%s", root, roots[i][1], folder) >= (int)sizeof pattern)
      continue;
    glob_t found;
    if (!glob(pattern, GLOB_BRACE, NULL, &found))
      for (size_t k = 0; k < found.gl_pathc && !library; k++) library = open_in(found.gl_pathv[k], soname);
    globfree(&found);
  }
  return library;
}

static atomic_int most = INT_MAX;

void dp_cuda_library_limit(int major) { atomic_store(&most, major); }
int dp_cuda_library_most(void) { return atomic_load(&most); }

// Whether the driver is too old for it: "libnvrtc.so.13" needs one for CUDA 13.
static bool is_too_new(const dp_cuda_library *l, const char *soname) {
  return l->of_toolkit && atoi(strrchr(soname, '.') + 1) > dp_cuda_library_most();
}

static void *open_library(const dp_cuda_library *l) {
  const char *home = getenv("CUDA_HOME");
  void *library = NULL;
  for (int i = 0; l->sonames[i] && !library; i++) {
    if (is_too_new(l, l->sonames[i])) continue;
    library = dlopen(l->sonames[i], RTLD_NOW | RTLD_GLOBAL);
    if (!library && home && l->folder) {
      char folder[PATH_BYTES];
      if (snprintf(folder, sizeof folder, "%s/lib64", home) < (int)sizeof folder)
        library = open_in(folder, l->sonames[i]);
    }
    if (!library && l->folder) library = open_in("/usr/local/cuda/lib64", l->sonames[i]);
    if (!library && l->folder) library = open_in_wheels(l->folder, l->sonames[i]);
  }
  return library;
}

static dp_status load(const dp_cuda_library *l) {
  void *library = open_library(l);
  if (!library && !l->folder)
    return dp_fail(EX_UNAVAILABLE,
                   "this machine has no driver of NVIDIA's (%s cannot be loaded): install it, or compile the model for "
                   "--target=cpu",
                   l->sonames[0]);
  int first = 0;
  while (l->sonames[first + 1] && is_too_new(l, l->sonames[first])) first++;
  if (!library)
    return dp_fail(
        EX_UNAVAILABLE,
        "%s cannot be loaded (%s%s): install the CUDA toolkit or the wheel that has it, and name its folder in "
        "CUDA_HOME or LD_LIBRARY_PATH",
        l->what, l->sonames[first], first ? "; this machine's driver is too old for newer ones" : "");
  void **to = l->table;
  for (int i = 0; l->calls[i]; i++, to++) {
    *to = dlsym(library, l->calls[i]);
    if (!*to) return dp_fail(EX_UNAVAILABLE, "%s on this machine is too old: it lacks %s", l->what, l->calls[i]);
  }
  for (int i = 0; l->newer && l->newer[i]; i++, to++) *to = dlsym(library, l->newer[i]);
  return DP_OK;
}

dp_status dp_cuda_library_load(dp_cuda_library *l) {
  pthread_mutex_lock(&l->lock);
  dp_status status = l->loaded ? DP_OK : load(l);
  l->loaded = !status;
  pthread_mutex_unlock(&l->lock);
  return status;
}
