// ScatterElements: copies operand 0, then applies the updates in order, except those for other devices. Integers wrap.
// Any type where updates only replace elements. Floats of 16 bits are combined as float32 in scratch memory, so that
// many updates of one element are rounded once.
#include "ir/ops/scatter_elements.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/convert.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/elements.h"
#include "backends/cuda/kernels/strided.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// A NaN among the updates stays, whatever comes after it.
static const char *const combinations[] = {
    [DP_SCATTER_PUT] = "update",
    [DP_SCATTER_ADD] = "(U)was + (U)update",
    [DP_SCATTER_MUL] = "(U)was * (U)update",
    [DP_SCATTER_MAX] = "update > was || update != update ? update : was",
    [DP_SCATTER_MIN] = "update < was || update != update ? update : was",
};

static bool match(const dp_kernel_spec *spec) {
  dp_scatter_mode mode;
  dp_status status = dp_scatter_elements_mode(spec->node, &mode);
  dp_status_free(status);
  return !status && (mode == DP_SCATTER_PUT || (DP_BIT(spec->inputs[0].dtype) & DP_CUDA_COMPUTED));
}

// copy: unless `widen`, `narrow` convert to and from scratch memory.
typedef struct {
  dp_cuda_copy copy;
  const dp_cuda_function *scatter, *widen, *narrow;
} scatter_state;

static dp_status is_wide(const dp_kernel_spec *spec, bool *wide) {
  dp_scatter_mode mode;
  const dp_dtype dtype = spec->inputs[0].dtype;
  DP_TRY(dp_scatter_elements_mode(spec->node, &mode));
  *wide = mode != DP_SCATTER_PUT && (dtype == DP_FLOAT16 || dtype == DP_BFLOAT16);
  return DP_OK;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  bool wide = false;
  dp_status_free(is_wide(spec, &wide));
  return wide ? (uint64_t)dp_out_count(spec, 0) * sizeof(float) : 0;
}

static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_function **function) {
  dp_scatter_mode mode;
  bool wide;
  char defines[512];
  DP_TRY(dp_scatter_elements_mode(spec->node, &mode));
  DP_TRY(is_wide(spec, &wide));
  const dp_dtype dtype = spec->inputs[0].dtype;
  const dp_cuda_type *type = mode == DP_SCATTER_PUT ? dp_cuda_type_moved(dtype) : dp_cuda_type_of(dtype);
  snprintf(defines, sizeof defines, "%s#define S %s\n#define U %s\n#define I %s\n#define COMBINE(was, update) %s\n",
           type->defines, wide ? type->computed : type->stored, type->wrapped,
           dp_cuda_type_of(spec->inputs[1].dtype)->stored, combinations[mode]);
  return dp_cuda_function_add(spec->op->name, defines, dp_cuda_source_scatter_elements, function);
}

static dp_status add_conversion(dp_dtype dtype, bool widens, const dp_cuda_function **function) {
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define WIDENS %d\n", dp_cuda_type_of(dtype)->defines, widens);
  return dp_cuda_function_add(widens ? "widen" : "narrow", defines, dp_cuda_source_convert, function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_path path = dp_cuda_path_dense(dp_out_count(spec, 0));
  const dp_dtype dtype = spec->inputs[0].dtype;
  scatter_state s = {.widen = NULL};
  bool wide;
  DP_TRY(is_wide(spec, &wide));
  if (wide) DP_TRY(add_conversion(dtype, true, &s.widen));
  if (wide) DP_TRY(add_conversion(dtype, false, &s.narrow));
  if (!wide) DP_TRY(dp_cuda_copy_make(dtype, &path, &s.copy));
  DP_TRY(add_function(spec, &s.scatter));
  scatter_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status convert(dp_queue *queue, const dp_cuda_function *function, int64_t count, const void *x, void *y) {
  const dp_convert_arguments a = {count, x, y};
  return dp_cuda_launch(queue, function, dp_cuda_blocks(count), DP_CUDA_THREADS, &a, sizeof a);
}

// y: the data, to be updated.
static dp_status scatter(const dp_kernel_spec *spec, const scatter_state *s, dp_queue *queue, const void *const *in,
                         void *y) {
  if (!dp_in_count(spec, 1)) return DP_OK;
  dp_elements_arguments a = dp_cuda_elements_of(spec, queue);
  a.count = dp_in_count(spec, 1) / a.length;
  a.indices = in[1];
  a.x = in[2];
  a.y = y;
  return dp_cuda_launch(queue, s->scatter, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const scatter_state *s = state;
  const int64_t count = dp_out_count(spec, 0);
  if (!s->widen) {
    DP_TRY(dp_cuda_copy_enqueue(&s->copy, queue, in[0], out[0]));
    return scatter(spec, s, queue, in, out[0]);
  }
  DP_TRY(convert(queue, s->widen, count, in[0], scratch));
  DP_TRY(scatter(spec, s, queue, in, scratch));
  return convert(queue, s->narrow, count, scratch, out[0]);
}

const dp_kernel dp_kernel_cuda_ScatterElements = {
    .name = "cuda.device.ScatterElements",
    .op = "ScatterElements",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
