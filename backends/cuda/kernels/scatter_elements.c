// ScatterElements: copies operand 0, then applies the updates in order, except those for other devices. Integers wrap.
// Any type where updates only replace elements.
#include "ir/ops/scatter_elements.h"

#include <stdio.h>
#include <stdlib.h>

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

typedef struct {
  dp_cuda_copy copy;
  const dp_cuda_function *scatter;
} scatter_state;

static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_function **function) {
  dp_scatter_mode mode;
  char defines[256];
  DP_TRY(dp_scatter_elements_mode(spec->node, &mode));
  const dp_dtype dtype = spec->inputs[0].dtype;
  const dp_cuda_type *type = dp_cuda_type_of(dtype);
  snprintf(defines, sizeof defines, "#define T %s\n#define U %s\n#define I %s\n#define COMBINE(was, update) %s\n",
           mode == DP_SCATTER_PUT ? dp_cuda_type_of_bytes(dp_type_bytes(dtype)) : type->stored, type->wrapped,
           dp_cuda_type_of(spec->inputs[1].dtype)->stored, combinations[mode]);
  return dp_cuda_function_add(spec->op->name, defines, dp_cuda_source_scatter_elements, function);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_path path = dp_cuda_path_dense(dp_out_count(spec, 0));
  scatter_state s;
  DP_TRY(dp_cuda_copy_make(spec->inputs[0].dtype, &path, &s.copy));
  DP_TRY(add_function(spec, &s.scatter));
  scatter_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const scatter_state *s = state;
  DP_TRY(dp_cuda_copy_enqueue(&s->copy, queue, in[0], out[0]));
  if (!dp_in_count(spec, 1)) return DP_OK;
  dp_elements_arguments a = dp_cuda_elements_of(spec, queue);
  a.count = dp_in_count(spec, 1) / a.length;
  a.indices = in[1];
  a.x = in[2];
  a.y = out[0];
  return dp_cuda_launch(queue, s->scatter, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_ScatterElements = {
    .name = "cuda.device.ScatterElements",
    .op = "ScatterElements",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
