// Slice, and dp.SliceGrad: zeros, except for dY where Slice took its elements.
#include <stdlib.h>

#include "backends/base/slice_walk.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

typedef struct {
  dp_cuda_copy copy;
  const dp_cuda_function *fill;  // of the gradient
} slice_state;

// gradient: from the short tensor to the long one.
static dp_status prepare_for(const dp_kernel_spec *spec, bool gradient, void **state) {
  const dp_local *large = gradient ? &spec->outputs[0].local : &spec->inputs[0].local;
  const dp_local *small = gradient ? &spec->inputs[0].local : &spec->outputs[0].local;
  dp_strided_rows walk;
  slice_state s = {0};
  DP_TRY(dp_slice_walk_make(spec->node, large, small, &walk));
  dp_cuda_path path = {.rank = walk.rank};
  int64_t *long_strides = gradient ? path.to_strides : path.from_strides;
  dp_cuda_strides_of(walk.rank, walk.extents, gradient ? path.from_strides : path.to_strides);
  for (int d = 0; d < walk.rank; d++) {
    path.extents[d] = walk.extents[d];
    long_strides[d] = walk.strides[d];
  }
  *(gradient ? &path.to_start : &path.from_start) = walk.start;
  DP_TRY(dp_cuda_copy_make(spec->inputs[0].dtype, &path, &s.copy));
  if (gradient) DP_TRY(dp_cuda_fill_add(spec->outputs[0].dtype, &s.fill));
  slice_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status prepare_slice(const dp_kernel_spec *spec, void **state) { return prepare_for(spec, false, state); }
static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) { return prepare_for(spec, true, state); }

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const slice_state *s = state;
  if (s->fill) DP_TRY(dp_cuda_fill(queue, s->fill, out[0], dp_out_count(spec, 0), 0));
  return dp_cuda_copy_enqueue(&s->copy, queue, in[0], out[0]);
}

const dp_kernel dp_kernel_cuda_Slice = {
    .name = "cuda.device.Slice",
    .op = "Slice",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare_slice,
    .release = free,
    .enqueue = enqueue,
};

const dp_kernel dp_kernel_cuda_dp_SliceGrad = {
    .name = "cuda.device.dp.SliceGrad",
    .op = "SliceGrad",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare_gradient,
    .release = free,
    .enqueue = enqueue,
};
