// See function.h. Functions that have been added wait in a list; the next program that is loaded compiles all of them.
#define _GNU_SOURCE
#include "backends/cuda/gpu/function.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/compile.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpu.h"

extern const char dp_cuda_source_prelude[];

struct dp_cuda_function {
  struct dp_cuda_function *next;
  uint64_t hash;  // of defines and source
  char *name, *text;
  CUfunction handle;  // NULL: not compiled yet
};

static dp_cuda_function *functions;

// ---- adding ---------------------------------------------------------------------------------------------------------

// Takes back what lines "#define NAME..." of `defines` define.
static void put_undefs(FILE *out, const char *defines) {
  static const char word[] = "#define ";
  for (const char *at = defines; (at = strstr(at, word)); at += sizeof word - 1) {
    const char *name = at + sizeof word - 1;
    if (at == defines || at[-1] == '\n') fprintf(out, "#undef %.*s\n", (int)strcspn(name, " (\n"), name);
  }
}

static dp_cuda_function *make(const char *name, uint64_t hash, const char *defines, const char *source) {
  dp_cuda_function *f = calloc(1, sizeof *f);
  size_t bytes;
  FILE *out = NULL;
  if (f && asprintf(&f->name, "dp_%s_%016llx", name, (unsigned long long)hash) >= 0)
    out = open_memstream(&f->text, &bytes);
  if (!out) {
    if (f) free(f->name);
    free(f);
    return NULL;
  }
  fprintf(out, "#define NAME %s\n%s\n%s\n", f->name, defines, source);
  put_undefs(out, defines);
  fprintf(out, "#undef NAME\n");
  if (!fclose(out)) return f;
  free(f->name);
  free(f->text);
  free(f);
  return NULL;
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
  f->hash = hash;
  f->next = functions;
  *function = functions = f;
  return DP_OK;
}

// ---- loading --------------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) {
  dp_cuda_function *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

// Functions by name, so that the same ones make the same program: all of them, or those that have no code yet.
static dp_status list(bool all, dp_cuda_function ***listed, size_t *count) {
  size_t most = 0;
  for (dp_cuda_function *f = functions; f; f = f->next) most++;
  *count = 0;
  *listed = calloc(most + 1, sizeof **listed);
  if (!*listed) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  for (dp_cuda_function *f = functions; f; f = f->next)
    if (all || !f->handle) (*listed)[(*count)++] = f;
  qsort(*listed, *count, sizeof **listed, by_name);
  return DP_OK;
}

static dp_status write_program(dp_cuda_function *const *listed, size_t count, char **program) {
  size_t bytes;
  FILE *out = open_memstream(program, &bytes);
  if (!out) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  fputs(dp_cuda_source_prelude, out);
  for (size_t i = 0; i < count; i++) fputs(listed[i]->text, out);
  return fclose(out) ? dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions") : DP_OK;
}

dp_status dp_cuda_functions_program(bool all, char **program) {
  dp_cuda_function **listed;
  size_t count;
  *program = NULL;
  DP_TRY(list(all, &listed, &count));
  dp_status status = count ? write_program(listed, count, program) : DP_OK;
  free(listed);
  return status;
}

static dp_status load(dp_cuda_function *const *pending, size_t count, const char *program) {
  const dp_cuda_gpu *gpu = dp_cuda_gpu_use();
  char *code;
  size_t bytes;
  DP_TRY(dp_cuda_compile(program, gpu->major, gpu->minor, &code, &bytes));
  CUmodule module;
  dp_status status = dp_cuda_check(dp_cu.cuModuleLoadData(&module, code), "loading functions");
  free(code);
  for (size_t i = 0; i < count && !status; i++)
    status =
        dp_cuda_check(dp_cu.cuModuleGetFunction(&pending[i]->handle, module, pending[i]->name), "loading functions");
  return status;
}

dp_status dp_cuda_functions_load(void) {
  dp_cuda_function **pending;
  size_t count;
  DP_TRY(list(false, &pending, &count));
  char *program = NULL;
  dp_status status = count ? write_program(pending, count, &program) : DP_OK;
  if (count && !status) status = load(pending, count, program);
  free(program);
  free(pending);
  return status;
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
