// Gather: the slices of data along `axis` that the indices name. A shard gives zeros for slices of other devices.
#include "backends/cpu/reference/index.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *x = &spec->inputs[0].local;
  int axis = dp_axis(dp_node_int(spec->node, "axis", 0), x->rank);
  int64_t lo, hi, count = dp_in_count(spec, 1), here = x->extents[axis];
  int64_t bytes = dp_product(x->extents, axis + 1, x->rank) * (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  dp_part_range(dp_product(x->extents, 0, axis) * count, part, parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    int64_t index = 0;
    DP_TRY(dp_index_at(spec, in, 1, row % count, x->whole[axis], &index));
    index = dp_index_here(x, axis, index);
    char *to = (char *)out[0] + row * bytes;
    if (index < 0)
      dp_zero(to, bytes);
    else
      dp_copy(to, (const char *)in[0] + (row / count * here + index) * bytes, bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Gather = {
    .name = "cpu.reference.Gather",
    .op = "Gather",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
