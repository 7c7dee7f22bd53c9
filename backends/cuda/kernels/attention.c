// dp.ScaledDotProductAttention and its gradient: plain kernels that store no matrix of scores.
#include "backends/cuda/kernels/attention.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/base/attention_extents.h"
#include "backends/cuda/device/attention.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// Operands. Q, K and V follow one another in both. others: operands of one type.
typedef struct {
  int q, others, mask, seed;
} operands;

static const operands forward = {0, 3, 3, 4}, backward = {1, 5, 6, 7};
enum { GIVEN_LSE = 5 };  // operand of the gradient

static bool is_half(dp_dtype dtype) { return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16; }

// The type of LSE: what 16 bits are computed in.
static dp_dtype type_of_lse(dp_dtype dtype) { return is_half(dtype) ? DP_FLOAT32 : dtype; }

static bool takes(const dp_kernel_spec *spec, const operands *o) {
  const dp_dtype dtype = spec->inputs[o->q].dtype;
  for (int i = 0; i < o->others; i++)
    if (spec->inputs[i].dtype != dtype) return false;
  const dp_dtype given = dp_has_in(spec, o->mask) ? spec->inputs[o->mask].dtype : DP_BOOL;
  const bool mask = given == dtype || given == DP_BOOL || (given == DP_FLOAT32 && is_half(dtype));
  return (DP_BIT(dtype) & DP_CUDA_FLOATS) && mask && dp_cuda_is_int64(spec, o->seed) &&
         dp_cuda_is_int64(spec, o->seed + 1);
}

static bool match_forward(const dp_kernel_spec *spec) {
  return takes(spec, &forward) &&
         (!dp_has_out(spec, 1) || spec->outputs[1].dtype == type_of_lse(spec->inputs[forward.q].dtype));
}

static bool match_gradient(const dp_kernel_spec *spec) {
  return takes(spec, &backward) && spec->inputs[GIVEN_LSE].dtype == type_of_lse(spec->inputs[backward.q].dtype);
}

static dp_attention_arguments arguments_of(const dp_kernel_spec *spec, const operands *o, const void *const *in) {
  const dp_attention e = dp_attention_of(spec, o->q, o->mask);
  dp_attention_arguments a = {.batch = e.batch,
                              .length = e.length,
                              .heads = e.heads,
                              .size = e.size,
                              .keys = e.keys,
                              .groups = e.groups,
                              .v_size = e.v_size,
                              .each = e.each,
                              .scale = e.scale,
                              .masked = e.masked,
                              .ratio = e.ratio,
                              .zero_rows = e.zero_rows,
                              .zero_nan = e.zero_nan,
                              .first = e.first,
                              .q_row = e.rows[DP_ATTENTION_Q],
                              .k_row = e.rows[DP_ATTENTION_K],
                              .v_row = e.rows[DP_ATTENTION_V],
                              .dq_row = e.gradient_rows[DP_ATTENTION_Q],
                              .dk_row = e.gradient_rows[DP_ATTENTION_K],
                              .dv_row = e.gradient_rows[DP_ATTENTION_V],
                              .q = in[o->q],
                              .k = in[o->q + 1],
                              .v = in[o->q + 2],
                              .mask = e.mask ? in[o->mask] : NULL};
  for (int d = 0; d < 4; d++) a.mask_stride[d] = e.mask_stride[d];
  if (e.ratio > 0) a.draw = dp_cuda_draw_of(spec, dp_cuda_place_of(&e.scores), in[o->seed], in[o->seed + 1]);
  return a;
}

static dp_status add_function(const dp_kernel_spec *spec, const operands *o, const char *name, const char *source,
                              const dp_cuda_function **function) {
  const dp_attention e = dp_attention_of(spec, o->q, o->mask);
  const dp_dtype dtype = spec->inputs[o->q].dtype;
  const bool wide_mask = e.mask && spec->inputs[o->mask].dtype != dtype;
  char defines[512];
  snprintf(defines, sizeof defines, "%s#define L %s\n#define MASK_AT(mask, i) %s\n#define MASK %d\n#define DROPS %d\n",
           dp_cuda_type_of(dtype)->defines, dp_cuda_type_of(type_of_lse(dtype))->stored,
           wide_mask ? "((const float *)(mask))[i]" : "GET(((const T *)(mask))[i])",
           e.causal            ? 3
           : !e.mask           ? 0
           : e.mask == DP_BOOL ? 1
                               : 2,
           e.ratio > 0);
  return dp_cuda_function_add(name, defines, source, function);
}

static dp_status launch(dp_queue *queue, const dp_cuda_function *function, int64_t blocks, int64_t width,
                        const dp_attention_arguments *a) {
  return dp_cuda_launch(queue, function, blocks, dp_cuda_row_threads(width), a, sizeof *a);
}

// ---- forward --------------------------------------------------------------------------------------------------------

static dp_status prepare_forward(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  DP_TRY(add_function(spec, &forward, "attention", dp_cuda_source_attention, &function));
  *state = (void *)(uintptr_t)function;  // which is never freed
  return DP_OK;
}

static dp_status enqueue_forward(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  (void)scratch;
  dp_attention_arguments a = arguments_of(spec, &forward, in);
  a.y = out[0];
  a.lse = dp_has_out(spec, 1) ? out[1] : NULL;
  return dp_cuda_launch(queue, state, a.batch * a.heads * dp_attention_tiles(a.length), DP_TILE_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_dp_ScaledDotProductAttention = {
    .name = "cuda.device.dp.ScaledDotProductAttention",
    .op = "ScaledDotProductAttention",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .match = match_forward,
    .prepare = prepare_forward,
    .enqueue = enqueue_forward,
};

// ---- gradient -------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_cuda_function *rows, *keys;
} gradient_state;

// `through` of each row.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_attention e = dp_attention_of(spec, backward.q, backward.mask);
  return (uint64_t)(e.batch * e.heads * e.length) * sizeof(double);
}

static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) {
  gradient_state s;
  DP_TRY(add_function(spec, &backward, "attention_grad_rows", dp_cuda_source_attention_grad_rows, &s.rows));
  DP_TRY(add_function(spec, &backward, "attention_grad_keys", dp_cuda_source_attention_grad_keys, &s.keys));
  gradient_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                  void *const *out, void *scratch) {
  const gradient_state *s = state;
  dp_attention_arguments a = arguments_of(spec, &backward, in);
  a.dy = in[0];
  a.given_y = in[4];
  a.given_lse = in[GIVEN_LSE];
  a.through = scratch;
  a.dq = out[0];
  a.dk = out[1];
  a.dv = out[2];
  a.dmask = dp_has_out(spec, 3) ? out[3] : NULL;
  DP_TRY(launch(queue, s->rows, a.batch * a.heads * a.length, dp_max_i64(a.keys, a.size), &a));
  return launch(queue, s->keys, a.batch * a.keys * a.groups, dp_max_i64(a.each * a.length, a.size), &a);
}

const dp_kernel dp_kernel_cuda_dp_ScaledDotProductAttentionGrad = {
    .name = "cuda.device.dp.ScaledDotProductAttentionGrad",
    .op = "ScaledDotProductAttentionGrad",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .match = match_gradient,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_gradient,
    .release = free,
    .enqueue = enqueue_gradient,
};
