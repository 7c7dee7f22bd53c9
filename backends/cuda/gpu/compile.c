// See compile.h.
#include "backends/cuda/gpu/compile.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/gpu/cache.h"
#include "backends/cuda/gpu/nvrtc.h"

enum { OPTIONS = 2 };  // changes with the options that programs are compiled with

dp_status dp_cuda_compile(const char *program, int major, int minor, char **code, size_t *bytes) {
  int nvrtc_major = 0, nvrtc_minor = 0;
  char key[128];
  DP_TRY(dp_cuda_nvrtc_version(&nvrtc_major, &nvrtc_minor));
  snprintf(key, sizeof key, "%016llx-sm_%d%d-%d.%d-%d.cubin", (unsigned long long)dp_hash64(program, strlen(program)),
           major, minor, nvrtc_major, nvrtc_minor, OPTIONS);
  if (dp_cuda_cache_find(key, code, bytes)) return DP_OK;
  DP_TRY(dp_cuda_nvrtc_compile(program, major, minor, code, bytes));
  dp_cuda_cache_keep(key, *code, *bytes);
  return DP_OK;
}
