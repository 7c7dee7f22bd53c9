// See gpu_list.h.
#include "backends/cuda/gpu/gpu_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static dp_status refuse(const char *list) {
  return dp_fail(EX_USAGE,
                 "--device=cuda:%s: give GPUs by number or by UUID, like --device=cuda:0,2; --device=cuda takes all",
                 list);
}

// The GPUs of this machine, for an error.
static void list_all(char *text, size_t bytes) {
  int count = 0;
  *text = 0;
  dp_status_free(dp_cuda_gpu_count(&count));
  for (int i = 0; i < count; i++) {
    const dp_cuda_gpu *gpu;
    dp_status status = dp_cuda_gpu_find(i, &gpu);
    if (!status) snprintf(text + strlen(text), bytes - strlen(text), "\n  %d  %s  %s", i, gpu->uuid, gpu->name);
    dp_status_free(status);
  }
}

// The GPU whose UUID begins so.
static dp_status find_uuid(const char *text, size_t length, const dp_cuda_gpu **gpu) {
  int count, found = 0;
  DP_TRY(dp_cuda_gpu_count(&count));
  for (int i = 0; i < count; i++) {
    const dp_cuda_gpu *one;
    DP_TRY(dp_cuda_gpu_find(i, &one));
    if (strncasecmp(one->uuid, text, length)) continue;
    *gpu = one;
    found++;
  }
  if (found == 1) return DP_OK;
  char all[4096];
  list_all(all, sizeof all);
  return dp_fail(EX_UNAVAILABLE, "%s GPU of this machine has the UUID %.*s; there are:%s",
                 found ? "more than one" : "no", (int)length, text, all);
}

static dp_status find(const char *list, const char *text, size_t length, const dp_cuda_gpu **gpu) {
  char *end = NULL;
  if (length > strlen("GPU-") && !strncasecmp(text, "GPU-", strlen("GPU-"))) return find_uuid(text, length, gpu);
  const long ordinal = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
  if (ordinal < 0 || end != text + length || ordinal > 1023) return refuse(list);
  return dp_cuda_gpu_find((int)ordinal, gpu);
}

dp_status dp_cuda_gpu_list_read(const char *list, const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS], int *count) {
  *count = 0;
  for (const char *at = list;; at++) {
    const size_t length = strcspn(at, ",");
    const dp_cuda_gpu *gpu;
    DP_TRY(find(list, at, length, &gpu));
    for (int i = 0; i < *count; i++)
      if (gpus[i] == gpu)
        return dp_fail(EX_USAGE, "--device=cuda:%s: GPU %d is in it twice; devices of the plan share GPUs by --map",
                       list, gpu->ordinal);
    if (!dp_cuda_gpu_is_new(gpu)) return dp_cuda_gpu_open(gpu);  // says why not
    gpus[(*count)++] = gpu;
    at += length;
    if (!*at) return DP_OK;
  }
}

dp_status dp_cuda_gpu_list_all(const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS], int *count) {
  int there;
  const dp_cuda_gpu *gpu, *first = NULL;
  *count = 0;
  DP_TRY(dp_cuda_gpu_count(&there));
  for (int i = 0; i < there; i++) {
    DP_TRY(dp_cuda_gpu_find(i, &gpu));
    if (dp_cuda_gpu_is_new(gpu)) gpus[(*count)++] = gpu;
    if (!first) first = gpu;
  }
  if (*count) return DP_OK;
  return first ? dp_cuda_gpu_open(first) : dp_cuda_gpu_find(0, &gpu);  // says why not
}
