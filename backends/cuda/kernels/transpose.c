// Transpose: result dim d is operand dim perm[d]; without `perm` the order is reversed.
#include <stdlib.h>

#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const int rank = dp_in_rank(spec, 0);
  size_t count;
  const int64_t *perm = dp_node_ints(spec->node, "perm", &count);
  int64_t strides[DP_MAX_RANK];
  dp_cuda_path path = {.rank = rank};
  dp_cuda_strides_of(rank, dp_in_extents(spec, 0), strides);
  dp_cuda_strides_of(rank, dp_out_extents(spec, 0), path.to_strides);
  for (int d = 0; d < rank; d++) {
    path.extents[d] = dp_out_extents(spec, 0)[d];
    path.from_strides[d] = strides[perm ? (int)perm[d] : rank - 1 - d];
  }
  return dp_cuda_copies_make(spec, 1, &path, state);
}

const dp_kernel dp_kernel_cuda_Transpose = {
    .name = "cuda.device.Transpose",
    .op = "Transpose",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = dp_cuda_one_copy_enqueue,
};
