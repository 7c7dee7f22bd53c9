// Trilu: the upper or lower triangle of the last two dims, zeros elsewhere; positions are in the whole tensor.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *x = &spec->inputs[0].local;
  int64_t lo, hi, columns = x->extents[x->rank - 1], rows = x->extents[x->rank - 2];
  int64_t bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype), k = dp_node_int(spec->node, "k", 0);
  bool upper = dp_node_int(spec->node, "upper", 1) != 0;
  // A diagonal beyond the matrix is equivalent to one at its edge.
  int64_t edge = x->whole[x->rank - 1] + x->whole[x->rank - 2];
  k = k > edge ? edge : k < -edge ? -edge : k;
  dp_part_range(dp_in_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    int64_t column = dp_local_to_whole(x, x->rank - 1, i % columns);
    int64_t row = dp_local_to_whole(x, x->rank - 2, i / columns % rows);
    if (upper ? column - row >= k : column - row <= k)
      dp_copy((char *)out[0] + i * bytes, (const char *)in[0] + i * bytes, bytes);
    else
      dp_zero((char *)out[0] + i * bytes, bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Trilu = {
    .name = "cpu.reference.Trilu",
    .op = "Trilu",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .in_place = true,
    .run = run,
};
