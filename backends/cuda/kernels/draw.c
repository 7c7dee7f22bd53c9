// What functions that draw random numbers are told. See draw.h.
#include "backends/cuda/kernels/draw.h"

_Static_assert((int)DP_PLACE_RANK == (int)DP_MAX_RANK, "the device's places have as many dims as tensors");

dp_place dp_cuda_place_of(const dp_local *local) {
  dp_place p = {0};
  for (int d = 0; d < local->rank; d++) {
    if (local->extents[d] != local->whole[d]) p.rank = local->rank;
    p.extents[d] = local->extents[d];
    p.whole[d] = local->whole[d];
    p.unit[d] = local->unit[d];
    p.k[d] = local->k[d];
    p.lo[d] = local->lo[d];
    p.mine[d] = local->hi[d] - local->lo[d];
  }
  return p;
}

dp_draw dp_cuda_draw_of(const dp_kernel_spec *spec, const dp_local *local, const void *seed, const void *step) {
  return (dp_draw){
      .place = dp_cuda_place_of(local), .seed = seed, .step = step, .key = (unsigned)dp_node_int(spec->node, "key", 0)};
}

bool dp_cuda_is_int64(const dp_kernel_spec *spec, int i) {
  return i >= spec->n_inputs || !spec->inputs[i].present || spec->inputs[i].dtype == DP_INT64;
}
