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
#include "backends/cuda/gpu/queue.h"

extern const char dp_cuda_source_prelude[];

// A function's machine code for one kind of GPU.
typedef struct image {
  dp_cuda_job job;  // makes what follows: `code`, or a failure
  const dp_cuda_function *function;
  int major, minor;  // compute capability
  char *code;        // NULL again once it is loaded
  size_t bytes;
  dp_status failure;
  struct image *next;
} image;

struct dp_cuda_function {
  struct dp_cuda_function *next;
  uint64_t hash;  // of name, defines and source
  char *name, *program;
  image *images;                          // one for each kind of GPU that needs it
  bool needed[DP_CUDA_MOST_GPUS];         // by GPU
  CUfunction handles[DP_CUDA_MOST_GPUS];  // NULL: not loaded yet
};

static dp_cuda_function *functions;

// ---- machine code ---------------------------------------------------------------------------------------------------

static void make_code(dp_cuda_job *job) {
  image *i = (image *)(void *)job;
  i->failure = dp_cuda_compile(i->function->program, i->major, i->minor, &i->code, &i->bytes);
}

// The image for a GPU, or NULL.
static image *find_image(const dp_cuda_function *f, const dp_cuda_gpu *gpu) {
  image *i = f->images;
  while (i && (i->major != gpu->major || i->minor != gpu->minor)) i = i->next;
  return i;
}

// Begins to make the code for a GPU. GPUs of one kind share it.
static dp_status need(dp_cuda_function *f, const dp_cuda_gpu *gpu) {
  if (f->needed[gpu->ordinal]) return DP_OK;
  image *i = find_image(f, gpu);
  if (!i) {
    i = calloc(1, sizeof *i);
    if (!i) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
    *i =
        (image){.job = {.work = make_code}, .function = f, .major = gpu->major, .minor = gpu->minor, .next = f->images};
    f->images = i;
  }
  f->needed[gpu->ordinal] = true;
  dp_cuda_job_start(&i->job);
  return DP_OK;
}

// ---- adding ---------------------------------------------------------------------------------------------------------

static dp_cuda_function *make(const char *name, uint64_t hash, const char *defines, const char *source) {
  dp_cuda_function *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->hash = hash;
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
  dp_cuda_function *f = functions;
  while (f && f->hash != hash) f = f->next;
  if (!f) {
    f = make(name, hash, defines, source);
    if (!f) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
    f->next = functions;
    functions = f;
  }
  dp_cuda_choice_add("function %s", f->name);
  *function = f;
  const dp_cuda_gpu *gpu = dp_cuda_gpu_current();
  return gpu ? need(f, gpu) : DP_OK;
}

dp_status dp_cuda_function_state(const char *name, const char *defines, const char *source, void **state) {
  const dp_cuda_function *function;
  DP_TRY(dp_cuda_function_add(name, defines, source, &function));
  *state = (void *)(uintptr_t)function;
  return DP_OK;
}

// ---- loading --------------------------------------------------------------------------------------------------------

// Loads the function onto a GPU.
static dp_status load(dp_cuda_function *f, const dp_cuda_gpu *gpu, const image *i) {
  CUmodule module;
  DP_TRY(dp_cuda_gpu_use(gpu));
  DP_TRY(dp_cuda_check(dp_cu.cuModuleLoadData(&module, i->code), "loading functions"));
  return dp_cuda_check(dp_cu.cuModuleGetFunction(&f->handles[gpu->ordinal], module, f->name), "loading functions");
}

static bool waits_for(const dp_cuda_function *f, const image *i, const dp_cuda_gpu *gpu) {
  return f->needed[gpu->ordinal] && !f->handles[gpu->ordinal] && find_image(f, gpu) == i;
}

// Loads the function onto the GPUs of one kind that need it. One that could not be compiled is tried again by the next
// call, and so is one that another GPU comes to need: its code is in the cache.
static dp_status load_image(dp_cuda_function *f, image *i) {
  bool waited = false;
  dp_status status = DP_OK;
  for (int g = 0; g < dp_cuda_gpus_count() && !status; g++) {
    const dp_cuda_gpu *gpu = dp_cuda_gpus_at(g);
    if (!waits_for(f, i, gpu)) continue;
    if (!waited) {
      dp_cuda_job_wait(&i->job);
      status = i->failure;
      i->failure = NULL;
      waited = true;
    }
    if (!status) status = load(f, gpu, i);
  }
  if (!waited) return DP_OK;
  free(i->code);
  i->code = NULL;
  i->job = (dp_cuda_job){.work = make_code};
  return status;
}

dp_status dp_cuda_functions_load(void) {
  for (dp_cuda_function *f = functions; f; f = f->next)
    for (image *i = f->images; i; i = i->next) DP_TRY(load_image(f, i));
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
  const dp_cuda_gpu *gpu = dp_cuda_queue_gpu(queue);
  return dp_cuda_check(dp_cu.cuLaunchKernel(f->handles[gpu->ordinal], (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                            0, dp_cuda_queue_stream(queue), list, NULL),
                       f->name);
}
