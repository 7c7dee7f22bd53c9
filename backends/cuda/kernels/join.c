// Concat and Split: a copy for each part.
#include <stdlib.h>

#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"
#include "ir/ops/split.h"

// A part of `extent` along the axis, from `start` on in the whole tensor. (outer, extent, inner) of (outer, along,
// inner)
static dp_cuda_path path_of(const dp_local *whole, int axis, int64_t extent, int64_t start, bool joins) {
  const int64_t outer = dp_product(whole->extents, 0, axis), inner = dp_product(whole->extents, axis + 1, whole->rank);
  const int64_t along = whole->extents[axis];
  dp_cuda_path path = {.rank = 2,
                       .extents = {outer, extent * inner},
                       .from_strides = {joins ? extent * inner : along * inner, 1},
                       .to_strides = {joins ? along * inner : extent * inner, 1}};
  if (joins)
    path.to_start = start * inner;
  else
    path.from_start = start * inner;
  return path;
}

static dp_status prepare_concat(const dp_kernel_spec *spec, void **state) {
  const dp_local *y = &spec->outputs[0].local;
  const int axis = dp_axis(dp_node_int(spec->node, "axis", 0), y->rank);
  dp_cuda_path paths[DP_MAX_OPERANDS];
  int64_t start = 0;
  for (int i = 0; i < spec->n_inputs; i++) {
    paths[i] = path_of(y, axis, dp_in_extents(spec, i)[axis], start, true);
    start += dp_in_extents(spec, i)[axis];
  }
  return dp_cuda_copies_make(spec, spec->n_inputs, paths, state);
}

static dp_status enqueue_concat(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)scratch;
  const dp_cuda_copy *copies = state;
  for (int i = 0; i < spec->n_inputs; i++) DP_TRY(dp_cuda_copy_enqueue(&copies[i], queue, in[i], out[0]));
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_Concat = {
    .name = "cuda.device.Concat",
    .op = "Concat",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare_concat,
    .release = free,
    .enqueue = enqueue_concat,
};

// If the axis is split among devices, the pieces are equally long.
static dp_status prepare_split(const dp_kernel_spec *spec, void **state) {
  const dp_local *x = &spec->inputs[0].local;
  const int axis = dp_axis(dp_node_int(spec->node, "axis", 0), x->rank);
  const bool whole = x->extents[axis] == x->whole[axis];
  dp_cuda_path paths[DP_MAX_OPERANDS];
  dp_dim sizes[DP_MAX_OPERANDS];
  int64_t start = 0;
  DP_TRY(dp_split_sizes(spec->node, dp_dim_of(x->whole[axis]), sizes));
  for (int i = 0; i < spec->n_outputs; i++) {
    const int64_t extent = whole ? sizes[i].offset : x->extents[axis] / spec->n_outputs;
    paths[i] = path_of(x, axis, extent, start, false);
    start += extent;
  }
  return dp_cuda_copies_make(spec, spec->n_outputs, paths, state);
}

static dp_status enqueue_split(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                               void *const *out, void *scratch) {
  (void)scratch;
  const dp_cuda_copy *copies = state;
  for (int i = 0; i < spec->n_outputs; i++)
    if (dp_has_out(spec, i)) DP_TRY(dp_cuda_copy_enqueue(&copies[i], queue, in[0], out[i]));
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_Split = {
    .name = "cuda.device.Split",
    .op = "Split",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare_split,
    .release = free,
    .enqueue = enqueue_split,
};
