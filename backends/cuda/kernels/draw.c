// What functions that draw random numbers are told. See draw.h.
#include "backends/cuda/kernels/draw.h"

#include "backends/cuda/kernels/strided.h"

_Static_assert((int)DP_PLACE_RANK == (int)DP_MAX_RANK, "the device's places have as many dims as tensors");

dp_place dp_cuda_place_in(dp_layout layout, const dp_local *local) {
  static const int plain[DP_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7}, nhwc[DP_MAX_RANK] = {0, 2, 3, 1};
  const int *order = layout == DP_LAYOUT_NHWC ? nhwc : plain;
  dp_place p = {.rank = layout == DP_LAYOUT_PLAIN ? 0 : local->rank};
  int64_t strides[DP_MAX_RANK];
  dp_cuda_strides_of(local->rank, local->whole, strides);
  for (int i = 0; i < local->rank; i++) {
    const int d = order[i];
    if (local->extents[d] != local->whole[d]) p.rank = local->rank;
    p.extents[i] = local->extents[d];
    p.strides[i] = strides[d];
    p.unit[i] = local->unit[d];
    p.k[i] = local->k[d];
    p.lo[i] = local->lo[d];
    p.mine[i] = local->hi[d] - local->lo[d];
  }
  return p;
}

dp_place dp_cuda_place_of(const dp_local *local) { return dp_cuda_place_in(DP_LAYOUT_PLAIN, local); }

dp_draw dp_cuda_draw_of(const dp_kernel_spec *spec, dp_place place, const void *seed, const void *step) {
  return (dp_draw){.place = place, .seed = seed, .step = step, .key = (unsigned)dp_node_int(spec->node, "key", 0)};
}

bool dp_cuda_is_int64(const dp_kernel_spec *spec, int i) {
  return i >= spec->n_inputs || !spec->inputs[i].present || spec->inputs[i].dtype == DP_INT64;
}
