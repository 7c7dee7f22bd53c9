// Tile: each dim of the operand again and again. Each dim is walked in two: the repetition, and the place in it.
#include <stdlib.h>

#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_local *x = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  int64_t from[DP_MAX_RANK], to[DP_MAX_RANK];
  dp_cuda_path path = {.rank = 2 * x->rank};
  dp_cuda_strides_of(x->rank, x->extents, from);
  dp_cuda_strides_of(y->rank, y->extents, to);
  for (int d = 0; d < x->rank; d++) {
    path.extents[2 * d] = x->extents[d] ? y->extents[d] / x->extents[d] : 0;
    path.extents[2 * d + 1] = x->extents[d];
    path.from_strides[2 * d + 1] = from[d];
    path.to_strides[2 * d] = to[d] * x->extents[d];
    path.to_strides[2 * d + 1] = to[d];
  }
  return dp_cuda_copies_make(spec, 1, &path, state);
}

const dp_kernel dp_kernel_cuda_Tile = {
    .name = "cuda.device.Tile",
    .op = "Tile",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = dp_cuda_one_copy_enqueue,
};
