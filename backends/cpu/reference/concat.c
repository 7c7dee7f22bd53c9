// Concat: copies the operands one after another along `axis`, for each row of the dims before it.
#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *y = &spec->outputs[0].local;
  int axis = dp_axis(dp_node_int(spec->node, "axis", 0), y->rank);
  const int64_t inner = dp_product(y->extents, axis + 1, y->rank) * (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  const int64_t pieces = spec->n_inputs;
  int64_t lo, hi, begins[DP_MAX_OPERANDS + 1] = {0};  // of the operands in a row
  for (int i = 0; i < pieces; i++) begins[i + 1] = begins[i] + dp_in_extents(spec, i)[axis] * inner;
  dp_part_range(dp_product(y->extents, 0, axis) * pieces, part, parts, &lo, &hi);
  for (int64_t at = lo; at < hi; at++) {
    const int64_t row = at / pieces, i = at % pieces, bytes = begins[i + 1] - begins[i];
    dp_copy((char *)out[0] + row * begins[pieces] + begins[i], (const char *)in[i] + row * bytes, bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Concat = {
    .name = "cpu.reference.Concat",
    .op = "Concat",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
