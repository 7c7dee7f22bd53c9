// The dims of a tensor that a reduction keeps, and those that it reduces. See reduce_dims.h.
#include "backends/cuda/kernels/reduce_dims.h"

#include "ir/kernel/extents.h"

_Static_assert((int)DP_REDUCE_RANK == (int)DP_MAX_RANK, "the device reduces as many dims as tensors have");

static void append(dp_reduce_dims *dims, bool longer, int64_t extent, int64_t stride) {
  dims->count *= extent;
  if (longer) {
    dims->extents[dims->rank - 1] *= extent;
  } else {
    dims->extents[dims->rank++] = extent;
  }
  dims->strides[dims->rank - 1] = stride;
}

void dp_cuda_reduce_dims(const dp_local *x, const bool is_reduced[DP_MAX_RANK], dp_reduce_dims *kept,
                         dp_reduce_dims *reduced) {
  *kept = *reduced = (dp_reduce_dims){.count = 1};
  int before = -1;
  for (int d = 0; d < x->rank; d++) {
    append(is_reduced[d] ? reduced : kept, before == (int)is_reduced[d], x->extents[d],
           dp_product(x->extents, d + 1, x->rank));
    before = (int)is_reduced[d];
  }
  if (!kept->rank) append(kept, false, 1, 1);
  if (!reduced->rank) append(reduced, false, 1, 1);
}
