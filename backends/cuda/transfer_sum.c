// Flat transfers: every target gets the reduction of all sources, or a copy of the only one. Each GPU that has targets
// takes a share of the elements, reads them from all sources and writes the result to all targets: so each element is
// read and written by one GPU alone, and targets may be sources. Of a copy, each GPU fetches what its own targets get.
//
// What a GPU does not reach comes through its staging memory, a stretch at a time, and goes back in the same way. The
// order in which elements are added is the same on any number of GPUs: that of the ranks.
#include <stdlib.h>

#include "backends/cuda/gpu/staging.h"
#include "backends/cuda/transfer_part.h"

extern const char dp_cuda_source_all_reduce[];

typedef struct {
  const dp_transfer *from;
  int64_t tensors;
  size_t element_bytes;
  const dp_cuda_function *function;
  // Where operands are; NULL: on the host, or everything is on one GPU. (n_sources), (n_targets)
  const dp_cuda_gpu **source_gpus, **target_gpus;
  uint64_t *words;  // room for a table
} summing;

// A stretch of elements of one tensor.
typedef struct {
  int64_t tensor, first, count;
} stretch;

// The next stretch of [*at, end), which are numbers of elements over all tensors.
static stretch next_stretch(const summing *s, int64_t *at, int64_t end) {
  const int64_t *begin = s->from->begin;
  int64_t t = 0;
  while (begin[t + 1] <= *at) t++;
  const stretch found = {t, *at - begin[t], dp_min_i64(end, begin[t + 1]) - *at};
  *at += found.count;
  return found;
}

static char *source_at(const summing *s, const stretch *part, int source) {
  return s->from->from[part->tensor * s->from->n_sources + source] + (size_t)part->first * s->element_bytes;
}

static char *target_at(const summing *s, const stretch *part, int target) {
  return s->from->to[part->tensor * s->from->n_targets + target] + (size_t)part->first * s->element_bytes;
}

static dp_status fetch(dp_cuda_part *part, char *to, const dp_cuda_gpu *to_gpu, const char *from,
                       const dp_cuda_gpu *from_gpu, uint64_t bytes) {
  const dp_cuda_step step = {.kind = DP_CUDA_STEP_FETCH,
                             .to = to,
                             .from = from,
                             .to_gpu = to_gpu ? to_gpu : part->gpu,
                             .from_gpu = from_gpu ? from_gpu : part->gpu,
                             .bytes = bytes};
  return dp_cuda_part_add(part, &step);
}

// ---- one launch -----------------------------------------------------------------------------------------------------

// Which operands a launch takes, and through which staging memory.
typedef struct {
  int n_far_sources, n_far_targets;
  bool *takes;    // (n_targets) the part writes it
  int64_t most;   // elements of a launch
  size_t stride;  // bytes of staging memory for each far source, and for the result
} launching;

static bool is_far(const dp_cuda_part *part, const dp_cuda_gpu *gpu) { return !dp_cuda_part_reaches(part, gpu); }

// Adds the launch for elements [at, end), with the copies before and after it.
static dp_status add_launch(const summing *s, dp_cuda_part *part, const launching *l, int64_t at, int64_t end) {
  const dp_transfer *f = s->from;
  int64_t n = 0;
  for (int64_t i = at; i < end; n++) next_stretch(s, &i, end);
  int n_targets = l->n_far_targets > 0;
  for (int t = 0; t < f->n_targets; t++) n_targets += l->takes[t] && !is_far(part, s->target_gpus[t]);
  uint64_t *sources = s->words, *targets = sources + n * f->n_sources, *before = targets + n * n_targets;
  char *result = part->staging + (size_t)l->n_far_sources * l->stride;
  int64_t k = 0, i = at;
  for (; k < n; k++) {
    const size_t offset = (size_t)(i - at) * s->element_bytes;
    before[k] = (uint64_t)(i - at);
    const stretch here = next_stretch(s, &i, end);
    const uint64_t bytes = (uint64_t)here.count * s->element_bytes;
    int far = 0, target = 0;
    for (int q = 0; q < f->n_sources; q++) {
      char *address = source_at(s, &here, q);
      if (is_far(part, s->source_gpus[q])) {
        char *to = part->staging + (size_t)far++ * l->stride + offset;
        DP_TRY(fetch(part, to, NULL, address, s->source_gpus[q], bytes));
        address = to;
      }
      sources[k * f->n_sources + q] = (uintptr_t)address;
    }
    for (int t = 0; t < f->n_targets; t++)
      if (l->takes[t] && !is_far(part, s->target_gpus[t]))
        targets[k * n_targets + target++] = (uintptr_t)target_at(s, &here, t);
    if (l->n_far_targets) targets[k * n_targets + target] = (uintptr_t)(result + offset);
  }
  before[n] = (uint64_t)(end - at);
  dp_cuda_step step = {.kind = DP_CUDA_STEP_SUM,
                       .function = s->function,
                       .elements = end - at,
                       .tensors = n,
                       .sources = f->n_sources,
                       .targets = n_targets};
  DP_TRY(dp_cuda_part_put(part, s->words, (size_t)(before + n + 1 - s->words) * sizeof *s->words, &step.table));
  DP_TRY(dp_cuda_part_add(part, &step));
  for (i = at; i < end && l->n_far_targets;) {
    const size_t offset = (size_t)(i - at) * s->element_bytes;
    const stretch here = next_stretch(s, &i, end);
    for (int t = 0; t < f->n_targets; t++)
      if (l->takes[t] && is_far(part, s->target_gpus[t]))
        DP_TRY(fetch(part, target_at(s, &here, t), s->target_gpus[t], result + offset, NULL,
                     (uint64_t)here.count * s->element_bytes));
  }
  return DP_OK;
}

// All launches of a part, for elements [at, end).
static dp_status add_launches(const summing *s, dp_cuda_part *part, bool *takes, int64_t at, int64_t end) {
  enum { UNIT = 256 };  // bytes, to which staging memory is divided
  launching l = {.takes = takes, .most = end - at};
  for (int q = 0; q < s->from->n_sources; q++) l.n_far_sources += is_far(part, s->source_gpus[q]);
  for (int t = 0; t < s->from->n_targets; t++) l.n_far_targets += takes[t] && is_far(part, s->target_gpus[t]);
  const int blocks = l.n_far_sources + (l.n_far_targets > 0);
  if (blocks) {
    DP_TRY(dp_cuda_part_stage(part));
    l.stride = (size_t)DP_CUDA_STAGING_BYTES / (size_t)blocks / UNIT * UNIT;
    l.most = (int64_t)(l.stride / s->element_bytes);
  }
  for (int64_t next; at < end; at = next) {
    next = dp_min_i64(end, at + l.most);
    DP_TRY(add_launch(s, part, &l, at, next));
  }
  return DP_OK;
}

// ---- shares ---------------------------------------------------------------------------------------------------------

// The number of the part that does what is done for this target; a target on the host goes with the source.
static int part_of(const summing *s, const dp_cuda_part *parts, int n_parts, int target) {
  const dp_cuda_gpu *gpu = s->target_gpus[target] ? s->target_gpus[target] : s->source_gpus[0];
  for (int p = 0; p < n_parts; p++)
    if (parts[p].gpu == gpu) return p;
  return 0;
}

// Each part that has targets reduces a share for all of them.
static dp_status share_sum(const summing *s, dp_cuda_part *parts, int n_parts, bool *takes) {
  int n = 0, shares[DP_CUDA_MOST_GPUS];
  for (int p = 0; p < n_parts; p++) {
    bool has = false;
    for (int t = 0; t < s->from->n_targets; t++) has |= part_of(s, parts, n_parts, t) == p;
    if (has) shares[n++] = p;
  }
  for (int t = 0; t < s->from->n_targets; t++) takes[t] = true;
  for (int i = 0; i < n; i++)
    DP_TRY(add_launches(s, &parts[shares[i]], takes, s->from->count * i / n, s->from->count * (i + 1) / n));
  return DP_OK;
}

// Each part copies to its own targets; from a source that it does not reach, by the copy engines alone.
static dp_status share_copy(const summing *s, dp_cuda_part *parts, int n_parts, bool *takes) {
  for (int p = 0; p < n_parts; p++) {
    bool any = false;
    const bool far = is_far(&parts[p], s->source_gpus[0]);
    for (int t = 0; t < s->from->n_targets; t++) any |= takes[t] = part_of(s, parts, n_parts, t) == p;
    if (any && !far) DP_TRY(add_launches(s, &parts[p], takes, 0, s->from->count));
    for (int64_t i = 0; i < s->from->count && any && far;) {
      const stretch here = next_stretch(s, &i, s->from->count);
      for (int t = 0; t < s->from->n_targets; t++)
        if (takes[t])
          DP_TRY(fetch(&parts[p], target_at(s, &here, t), NULL, source_at(s, &here, 0), s->source_gpus[0],
                       (uint64_t)here.count * s->element_bytes));
    }
  }
  return DP_OK;
}

// All tensors have their shards on the same devices, so the first one tells where.
static dp_status find_operands(summing *s, int n_parts) {
  for (int q = 0; q < s->from->n_sources; q++)
    DP_TRY(dp_cuda_part_holding(n_parts, s->from->from[q], &s->source_gpus[q]));
  for (int t = 0; t < s->from->n_targets; t++)
    DP_TRY(dp_cuda_part_holding(n_parts, s->from->to[t], &s->target_gpus[t]));
  return DP_OK;
}

dp_status dp_cuda_transfer_sum(const dp_transfer *from, dp_cuda_part *parts, int n_parts) {
  summing s = {.from = from, .element_bytes = dp_type_bytes(from->dtype)};
  if (!from->count) return DP_OK;
  while (from->begin[s.tensors] < from->count) s.tensors++;
  for (int p = 0; p < n_parts; p++) {
    if (parts[p].gpu) DP_TRY(dp_cuda_gpu_use(parts[p].gpu));
    DP_TRY(
        dp_cuda_transfer_function("all_reduce", "", dp_cuda_source_all_reduce, from->action, from->dtype, &s.function));
  }
  s.source_gpus = calloc((size_t)from->n_sources + 1, sizeof *s.source_gpus);
  s.target_gpus = calloc((size_t)from->n_targets + 1, sizeof *s.target_gpus);
  s.words = calloc((size_t)s.tensors * (size_t)(from->n_sources + from->n_targets + 2) + 1, sizeof *s.words);
  bool *takes = calloc((size_t)from->n_targets + 1, sizeof *takes);
  const bool all = s.source_gpus && s.target_gpus && s.words && takes;
  dp_status status =
      all ? find_operands(&s, n_parts) : dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  if (!status)
    status = from->n_sources > 1 ? share_sum(&s, parts, n_parts, takes) : share_copy(&s, parts, n_parts, takes);
  free(s.source_gpus);
  free(s.target_gpus);
  free(s.words);
  free(takes);
  return status;
}
