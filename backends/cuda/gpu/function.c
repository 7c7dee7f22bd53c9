// See function.h. Every function is a program of its own, so that a change of one leaves the others in the cache, and
// threads compile several at a time. Compared with one program of 33 functions, the toolkit's NVRTC 13.0 takes a
// quarter more of a core's time.
#define _GNU_SOURCE
#include "backends/cuda/gpu/function.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/background.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/compile.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpu.h"

extern const char dp_cuda_source_prelude[];

struct dp_cuda_function {
  dp_cuda_job job;  // makes what follows: `code`, or a failure
  char *code;
  size_t bytes;
  dp_status failure;
  struct dp_cuda_function *next;
  uint64_t hash;  // of name, defines and source
  char *name, *program;
  CUfunction handle;  // NULL: not loaded yet
};

static dp_cuda_function *functions;

// ---- adding ---------------------------------------------------------------------------------------------------------

static void make_code(dp_cuda_job *job) {
  dp_cuda_function *f = (dp_cuda_function *)(void *)job;
  const dp_cuda_gpu *gpu = dp_cuda_gpu_opened();
  f->failure = dp_cuda_compile(f->program, gpu->major, gpu->minor, &f->code, &f->bytes);
}

static dp_cuda_function *make(const char *name, uint64_t hash, const char *defines, const char *source) {
  dp_cuda_function *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (dp_cuda_function){.job = {.work = make_code}, .hash = hash};
  if (asprintf(&f->name, "dp_%s_%016llx", name, (unsigned long long)hash) < 0) {
    free(f);
    return NULL;
  }
  if (asprintf(&f->program, "%s#define NAME %s\n%s\n%s\n", dp_cuda_source_prelude, f->name, defines, source) < 0) {
    free(f->name);
    free(f);
    return NULL;
  }
  return f;
}

dp_status dp_cuda_function_add(const char *name, const char *defines, const char *source,
                               const dp_cuda_function **function) {
  uint64_t parts[3] = {dp_hash64(name, strlen(name)), dp_hash64(defines, strlen(defines)),
                       dp_hash64(source, strlen(source))};
  uint64_t hash = dp_hash64(parts, sizeof parts);
  for (dp_cuda_function *f = functions; f; f = f->next)
    if (f->hash == hash) {
      dp_cuda_choice_add("function %s", f->name);
      *function = f;
      return DP_OK;
    }
  dp_cuda_function *f = make(name, hash, defines, source);
  if (!f) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  dp_cuda_choice_add("function %s", f->name);
  f->next = functions;
  *function = functions = f;
  if (dp_cuda_gpu_opened()) dp_cuda_job_start(&f->job);
  return DP_OK;
}

dp_status dp_cuda_function_state(const char *name, const char *defines, const char *source, void **state) {
  const dp_cuda_function *function;
  DP_TRY(dp_cuda_function_add(name, defines, source, &function));
  *state = (void *)(uintptr_t)function;
  return DP_OK;
}

// ---- loading --------------------------------------------------------------------------------------------------------

// A function that could not be compiled is tried again by the next call.
static dp_status load(dp_cuda_function *f) {
  CUmodule module;
  dp_cuda_job_wait(&f->job);
  dp_status status = f->failure;
  f->failure = NULL;
  if (!status) status = dp_cuda_check(dp_cu.cuModuleLoadData(&module, f->code), "loading functions");
  if (!status) status = dp_cuda_check(dp_cu.cuModuleGetFunction(&f->handle, module, f->name), "loading functions");
  free(f->code);
  f->code = NULL;
  if (status) f->job = (dp_cuda_job){.work = make_code};
  return status;
}

dp_status dp_cuda_functions_load(void) {
  dp_cuda_gpu_use();
  for (dp_cuda_function *f = functions; f; f = f->next)
    if (!f->handle) DP_TRY(load(f));
  return DP_OK;
}

dp_status dp_cuda_functions_list(int *count, dp_cuda_function_text **list) {
  size_t n = 0;
  for (const dp_cuda_function *f = functions; f; f = f->next) n++;
  dp_cuda_function_text *texts = calloc(n + 1, sizeof *texts);
  if (!texts) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  n = 0;
  for (const dp_cuda_function *f = functions; f; f = f->next) texts[n++] = (dp_cuda_function_text){f->name, f->program};
  *count = (int)n;
  *list = texts;
  return DP_OK;
}

dp_status dp_cuda_functions_compile(int major, int minor, int *count, size_t *bytes) {
  *count = 0;
  *bytes = 0;
  for (const dp_cuda_function *f = functions; f; f = f->next) {
    char *code;
    size_t more;
    DP_TRY(dp_cuda_compile(f->program, major, minor, &code, &more));
    free(code);
    *bytes += more;
    ++*count;
  }
  return DP_OK;
}

// ---- launching ------------------------------------------------------------------------------------------------------

dp_status dp_cuda_launch(dp_queue *queue, const dp_cuda_function *f, int64_t blocks, int threads, const void *arguments,
                         size_t bytes) {
  (void)bytes;
  if (blocks <= 0) return DP_OK;
  if (blocks > INT_MAX)
    return dp_fail(EX_UNAVAILABLE, "a step of %lld blocks is too large for a GPU", (long long)blocks);
  void *list[] = {(void *)(uintptr_t)arguments};
  return dp_cuda_check(dp_cu.cuLaunchKernel(f->handle, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0,
                                            dp_cuda_queue_stream(queue), list, NULL),
                       f->name);
}
