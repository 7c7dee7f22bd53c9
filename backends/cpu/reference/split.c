// Split: copies the operand's pieces along `axis`, for each row of the dims before it. Absent results are skipped.
#include "ir/ops/split.h"

#include "backends/cpu/reference/reference.h"

// The local bounds of the results along the axis. If the axis is split among devices, the pieces are equally long.
static dp_status bounds_of(const dp_kernel_spec *spec, int axis, int64_t bounds[DP_MAX_OPERANDS + 1]) {
  dp_dim sizes[DP_MAX_OPERANDS];
  const dp_local *x = &spec->inputs[0].local;
  DP_TRY(dp_split_sizes(spec->node, dp_dim_of(x->whole[axis]), sizes));
  bool whole = x->extents[axis] == x->whole[axis];
  bounds[0] = 0;
  for (int i = 0; i < spec->n_outputs; i++)
    bounds[i + 1] = bounds[i] + (whole ? sizes[i].offset : x->extents[axis] / spec->n_outputs);
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *x = &spec->inputs[0].local;
  int axis = dp_axis(dp_node_int(spec->node, "axis", 0), x->rank);
  int64_t lo, hi, bounds[DP_MAX_OPERANDS + 1];
  int64_t inner = dp_product(x->extents, axis + 1, x->rank) * (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  DP_TRY(bounds_of(spec, axis, bounds));
  const int64_t pieces = spec->n_outputs;
  dp_part_range(dp_product(x->extents, 0, axis) * pieces, part, parts, &lo, &hi);
  for (int64_t at = lo; at < hi; at++) {
    const int64_t row = at / pieces, i = at % pieces, bytes = (bounds[i + 1] - bounds[i]) * inner;
    if (dp_has_out(spec, (int)i))
      dp_copy((char *)out[i] + row * bytes, (const char *)in[0] + (row * x->extents[axis] + bounds[i]) * inner, bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Split = {
    .name = "cpu.reference.Split",
    .op = "Split",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
