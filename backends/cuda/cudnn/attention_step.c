// See attention_step.h.
#include "backends/cuda/cudnn/attention_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/attention_around.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/gpu.h"
#include "backends/cuda/kernels/attention.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// The largest mask that is copied, and the largest workspace: what would need more is computed by our own functions, or
// in parts.
enum { MOST_MASK = 64 << 20, MOST_WORKSPACE = 512 << 20, MOST_SIZE = 128, APART = 256 };

const dp_cudnn_attention_kind dp_cudnn_attention_forward = {false, 0, 3, &dp_kernel_cuda_dp_ScaledDotProductAttention},
                              dp_cudnn_attention_backward = {true, 1, 6,
                                                             &dp_kernel_cuda_dp_ScaledDotProductAttentionGrad};

// ---- what cuDNN computes --------------------------------------------------------------------------------------------

static bool is_size(int64_t size) { return size > 0 && size % 8 == 0 && size <= MOST_SIZE; }

static bool is_half(dp_dtype dtype) { return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16; }

// A bool mask's hidden keys have no gradient, whatever their probability: that is so only if it is 0.
static bool takes_mask(const dp_attention *a, bool gradient) {
  return a->mask != DP_BOOL || (a->masked == -INFINITY && (a->zero_rows || !gradient));
}

bool dp_cudnn_attention_match(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind) {
  const dp_attention a = dp_attention_of(spec, kind->q, kind->mask);
  const dp_local *q = &spec->inputs[kind->q].local, *v = &spec->inputs[kind->q + 2].local;
  const bool dmask = kind->gradient && dp_has_out(spec, 3);
  return is_half(spec->inputs[kind->q].dtype) && is_size(q->whole[3]) && is_size(v->whole[3]) && a.ratio == 0 &&
         !a.zero_nan && !dmask && takes_mask(&a, kind->gradient) && kind->own->match(spec);
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// The whole, as if one run computed it.
static dp_cudnn_attention whole_of(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind,
                                   const dp_attention *e) {
  const bool mask = e->mask != DP_NO_TYPE;
  return (dp_cudnn_attention){.gradient = kind->gradient,
                              .dtype = spec->inputs[kind->q].dtype,
                              .batch = e->batch,
                              .length = e->length,
                              .heads = e->heads,
                              .size = e->size,
                              .keys = e->keys,
                              .groups = e->groups,
                              .v_size = e->v_size,
                              .all_heads = e->heads,
                              .rows = {e->rows[0], e->rows[1], e->rows[2]},
                              .gradient_rows = {e->gradient_rows[0], e->gradient_rows[1], e->gradient_rows[2]},
                              .mask_batch = !mask               ? 0
                                            : e->mask_stride[0] ? e->batch
                                                                : 1,
                              .mask_heads = !mask               ? 0
                                            : e->mask_stride[1] ? e->heads
                                                                : 1,
                              .mask_all_heads = e->mask_stride[1] ? e->heads : 1,
                              .causal = e->causal,
                              .first = e->causal ? e->first : 0,
                              .statistics = !kind->gradient && (mask || dp_has_out(spec, 1))};
}

static uint64_t mask_bytes(const dp_cudnn_attention *a) {
  return (uint64_t)(a->mask_batch * a->mask_heads * a->length * a->keys) * sizeof(float);
}

// Takes up to `most` bytes. Each term grows with the extents, so that what is made for the largest does for all.
static uint64_t take(uint64_t *end, uint64_t bytes, uint64_t most) {
  const uint64_t at = *end;
  *end += ((bytes < most ? bytes : most) + APART - 1) / APART * APART;
  return at;
}

static dp_cudnn_attention_room room_of(const dp_cudnn_attention *a) {
  const uint64_t rows = (uint64_t)(a->batch * a->heads * a->length) * sizeof(float);
  dp_cudnn_attention_room room = {0};
  room.mask = take(&room.end, mask_bytes(a), MOST_MASK);
  room.statistics = take(&room.end, a->mask_batch ? rows : 0, UINT64_MAX);
  room.through = take(&room.end, a->gradient ? rows : 0, UINT64_MAX);
  room.workspace = take(&room.end, dp_cudnn_attention_workspace(a), MOST_WORKSPACE);
  room.workspace_bytes = room.end - room.workspace;
  return room;
}

uint64_t dp_cudnn_attention_scratch_bytes(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind) {
  const dp_attention e = dp_attention_of(spec, kind->q, kind->mask);
  const dp_cudnn_attention whole = whole_of(spec, kind, &e);
  const uint64_t own = kind->own->scratch_bytes ? kind->own->scratch_bytes(spec) : 0, end = room_of(&whole).end;
  return own > end ? own : end;
}

// ---- preparing ------------------------------------------------------------------------------------------------------

static bool fits(const dp_cudnn_attention *a) { return dp_cudnn_attention_workspace(a) <= a->workspace; }

// The largest part whose workspace fits, of as many parts as there are of its size: several samples, or several groups
// of heads of one sample. Parts begin at addresses that are multiples of 16. False: there is none.
static bool divide(dp_cudnn_attention *a) {
  const int64_t batch = a->batch, groups = a->groups, each = a->heads / a->groups;
  if (fits(a)) return true;
  if (a->length % 4) return false;
  for (int64_t parts = 2; parts <= batch; parts++) {
    if (batch % parts) continue;
    a->batch = batch / parts;
    if (fits(a)) break;
  }
  for (int64_t parts = 2; !fits(a) && parts <= groups; parts++) {
    if (groups % parts) continue;
    a->groups = groups / parts;
    a->heads = a->groups * each;
  }
  if (a->mask_batch > 1) a->mask_batch = a->batch;
  if (a->mask_heads > 1) a->mask_heads = a->heads;
  return fits(a);
}

// GPUs of compute capability 10.x have engines for gradients whose order is not said to be fixed
// (NVIDIA/cudnn-frontend asks for one by its number and settings there, from cuDNN 9.18 on).
static bool is_deterministic(const dp_cudnn_attention_kind *kind) {
  return !kind->gradient || dp_cuda_gpu_current()->major != 10;
}

// What NVIDIA/cudnn-frontend refuses or works around, though cuDNN has engines for it: all attention of 9.10.0 and
// 9.10.1; up to 9.9.0, one query where later keys are hidden; up to 9.15.0, gradients for numbers of keys that are no
// multiples of 128; gradients of one query and one key.
static bool is_known_wrong(const dp_cudnn_attention_kind *kind, const dp_attention *e, int version) {
  if (version == 91000 || version == 91001) return true;
  if (version <= 90900 && e->causal && e->length == 1) return true;
  if (!kind->gradient) return false;
  return (version <= 91500 && e->keys % 128) || (e->length == 1 && e->keys == 1);
}

static dp_status plan(dp_cudnn_attention_step *s, const dp_cudnn_attention_kind *kind) {
  const dp_attention *e = &s->e;
  dp_cudnn_attention *a = &s->part;
  const bool empty = e->batch < 1 || e->length < 1 || e->heads < 1 || e->keys < 1;
  a->workspace = s->room.workspace_bytes;
  if (empty || !is_size(e->size) || !is_size(e->v_size) || mask_bytes(a) > MOST_MASK || !divide(a)) return DP_OK;
  if (!is_deterministic(kind)) {
    dp_cuda_choice_add("no engine of cuDNN's that is known to be deterministic");
    return DP_OK;
  }
  const dp_cudnn_calls *calls;
  cudnnHandle_t handle;
  int version;
  DP_TRY(dp_cudnn_version_number(&version));
  if (is_known_wrong(kind, e, version)) {
    dp_cuda_choice_add("not cuDNN, which is known to be wrong here");
    return DP_OK;
  }
  DP_TRY(dp_cudnn_load(&calls));
  DP_TRY(dp_cudnn_open(&handle));
  DP_TRY(dp_cudnn_attention_plan(calls, handle, NULL, a, &s->plan, &s->planned));
  if (!s->planned) {
    dp_cuda_choice_add("no engine of cuDNN's (those of attention need NVRTC too)");
    return DP_OK;
  }
  const long long parts = (e->batch / a->batch) * (e->groups / a->groups);
  dp_cuda_choice_add("cuDNN engine %lld, workspace %lld bytes", (long long)s->plan.engine,
                     (long long)s->plan.workspace_bytes);
  if (parts > 1) dp_cuda_choice_add("%lld parts", parts);
  return DP_OK;
}

// The functions that a mask makes necessary.
static dp_status add_functions(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind,
                               dp_cudnn_attention_step *s) {
  if (!s->e.mask) return DP_OK;
  char defines[256];
  snprintf(defines, sizeof defines, "%s%s", dp_cuda_type_of(s->e.mask)->defines,
           s->e.mask == DP_BOOL ? "#define SELECTS\n" : "");
  DP_TRY(dp_cuda_function_add("attention_mask", defines, dp_cuda_source_attention_mask, &s->make_mask));
  if (!kind->gradient)
    return dp_cuda_function_add("attention_rows", dp_cuda_type_of(spec->inputs[kind->q].dtype)->defines,
                                dp_cuda_source_attention_rows, &s->mend_rows);
  return s->e.zero_rows ? dp_cuda_function_add("attention_statistics", "", dp_cuda_source_attention_statistics,
                                               &s->make_statistics)
                        : DP_OK;
}

dp_status dp_cudnn_attention_add_functions(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  const bool forward = kernel == &dp_kernel_cuda_cudnn_ScaledDotProductAttention;
  if (!forward && kernel != &dp_kernel_cuda_cudnn_ScaledDotProductAttentionGrad) return DP_OK;
  const dp_cudnn_attention_kind *kind = forward ? &dp_cudnn_attention_forward : &dp_cudnn_attention_backward;
  dp_cudnn_attention_step s = {.e = dp_attention_of(spec, kind->q, kind->mask)};
  return add_functions(spec, kind, &s);
}

dp_status dp_cudnn_attention_prepare(const dp_kernel_spec *spec, const dp_cudnn_attention_kind *kind, void **state) {
  dp_cudnn_attention_step *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of attention");
  s->kind = kind;
  s->e = dp_attention_of(spec, kind->q, kind->mask);
  s->part = whole_of(spec, kind, &s->e);
  s->room = room_of(&s->part);
  dp_status status = plan(s, kind);
  if (!status) status = s->planned ? add_functions(spec, kind, s) : kind->own->prepare(spec, &s->own);
  if (status)
    dp_cudnn_attention_release(s);
  else
    *state = s;
  return status;
}

void dp_cudnn_attention_release(void *state) {
  dp_cudnn_attention_step *s = state;
  if (!s) return;
  if (s->planned) dp_cudnn_plan_release(&s->plan);
  if (s->own && s->kind->own->release) s->kind->own->release(s->own);
  free(s);
}

// ---- running --------------------------------------------------------------------------------------------------------

dp_status dp_cudnn_attention_put_mask(const dp_cudnn_attention_step *s, dp_queue *queue, const void *mask,
                                      void *scratch) {
  const dp_attention *e = &s->e;
  const int64_t heads = s->part.mask_all_heads, batch = e->mask_stride[0] ? e->batch : 1;
  dp_attention_mask_arguments a = {.y = (float *)((char *)scratch + s->room.mask),
                                   .mask = mask,
                                   .count = batch * heads * e->length * e->keys,
                                   .heads = heads,
                                   .length = e->length,
                                   .keys = e->keys};
  if (!s->make_mask) return DP_OK;
  for (int d = 0; d < 4; d++) a.stride[d] = e->mask_stride[d];
  return dp_cuda_launch(queue, s->make_mask, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

// How many bytes lie between samples, and between groups of heads.
typedef struct {
  int64_t batch, group;
} distance;

static distance distance_of(const dp_cudnn_attention_step *s, int tensor) {
  const dp_attention *e = &s->e;
  const int64_t plane = e->length * e->keys, width = 2;
  switch (tensor) {
    case DP_CUDNN_Q:
      return (distance){e->length * e->rows[DP_ATTENTION_Q] * width, e->each * e->size * width};
    case DP_CUDNN_DQ:
      return (distance){e->length * e->gradient_rows[DP_ATTENTION_Q] * width, e->each * e->size * width};
    case DP_CUDNN_Y:
    case DP_CUDNN_DY:
      return (distance){e->length * e->heads * e->v_size * width, e->each * e->v_size * width};
    case DP_CUDNN_K:
      return (distance){e->keys * e->rows[DP_ATTENTION_K] * width, e->size * width};
    case DP_CUDNN_DK:
      return (distance){e->keys * e->gradient_rows[DP_ATTENTION_K] * width, e->size * width};
    case DP_CUDNN_V:
      return (distance){e->keys * e->rows[DP_ATTENTION_V] * width, e->v_size * width};
    case DP_CUDNN_DV:
      return (distance){e->keys * e->gradient_rows[DP_ATTENTION_V] * width, e->v_size * width};
    case DP_CUDNN_LSE:
    case DP_CUDNN_THROUGH:
      return (distance){e->heads * e->length * (int64_t)sizeof(float), e->each * e->length * (int64_t)sizeof(float)};
    case DP_CUDNN_MASK:
      return (distance){e->mask_stride[0] ? s->part.mask_all_heads * plane * (int64_t)sizeof(float) : 0,
                        e->mask_stride[1] ? e->each * plane * (int64_t)sizeof(float) : 0};
    default:  // in the host's memory
      return (distance){0, 0};
  }
}

static dp_status run_part(const dp_cudnn_attention_step *s, dp_queue *queue, const void *const *data, int64_t sample,
                          int64_t group, void *scratch) {
  int64_t ids[DP_CUDNN_ATTENTION_TENSORS], count = 0;
  const void *at[DP_CUDNN_ATTENTION_TENSORS];
  for (int t = DP_CUDNN_Q; t < DP_CUDNN_ATTENTION_TENSORS; t++) {
    if (!data[t]) continue;
    const distance d = distance_of(s, t);
    ids[count] = t;
    at[count++] = (const char *)data[t] + sample * d.batch + group * d.group;
  }
  return dp_cudnn_plan_put(&s->plan, dp_cuda_queue_stream(queue), count, ids, at, (char *)scratch + s->room.workspace);
}

dp_status dp_cudnn_attention_run(const dp_cudnn_attention_step *s, dp_queue *queue,
                                 const void *const given[DP_CUDNN_ATTENTION_TENSORS], void *scratch) {
  const float scale = (float)s->e.scale, one = 1, hidden = DP_ATTENTION_HIDDEN;
  const int32_t first = (int32_t)s->part.first;
  const void *data[DP_CUDNN_ATTENTION_TENSORS];
  for (int t = 0; t < DP_CUDNN_ATTENTION_TENSORS; t++) data[t] = given[t];
  data[DP_CUDNN_SCALE] = &scale;
  if (s->part.gradient) data[DP_CUDNN_ONE] = &one, data[DP_CUDNN_THROUGH] = (char *)scratch + s->room.through;
  if (s->part.causal) data[DP_CUDNN_HIDDEN] = &hidden;
  if (s->part.first) data[DP_CUDNN_FIRST] = &first;
  if (s->part.mask_batch) data[DP_CUDNN_MASK] = (char *)scratch + s->room.mask;
  for (int64_t sample = 0; sample < s->e.batch; sample += s->part.batch)
    for (int64_t group = 0; group < s->e.groups; group += s->part.groups)
      DP_TRY(run_part(s, queue, data, sample, group, scratch));
  return DP_OK;
}
