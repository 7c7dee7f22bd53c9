// What GatherElements and ScatterElements share. See elements.h.
#include "backends/cuda/kernels/elements.h"

#include "backends/cuda/kernels/index.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_ELEMENTS_RANK == (int)DP_MAX_RANK, "the device walks as many dims as tensors have");

dp_elements_arguments dp_cuda_elements_of(const dp_kernel_spec *spec, const dp_queue *queue) {
  const dp_local *x = &spec->inputs[0].local, *indices = &spec->inputs[1].local;
  const int axis = dp_axis(dp_node_int(spec->node, "axis", 0), x->rank);
  dp_elements_arguments a = {.length = indices->extents[axis],
                             .inner = dp_product(indices->extents, axis + 1, indices->rank),
                             .data_inner = dp_product(x->extents, axis + 1, x->rank),
                             .narrow = dp_local_count(indices) <= UINT32_MAX,
                             .dim = dp_cuda_index_dim(x, axis, queue)};
  // Dims beside each other are joined on either side of the axis, where the inner one is as long in both.
  for (int d = 0; d < x->rank; d++) {
    const bool joins = d && d != axis && d - 1 != axis && indices->extents[d] == x->extents[d];
    if (d == axis) a.axis = a.rank;
    if (!joins) a.rank++;
    a.extents[a.rank - 1] = (joins ? a.extents[a.rank - 1] : 1) * indices->extents[d];
    a.data_extents[a.rank - 1] = (joins ? a.data_extents[a.rank - 1] : 1) * x->extents[d];
  }
  return a;
}
