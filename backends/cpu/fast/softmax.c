// Softmax of float32 by vectors, along `axis`.
#include "backends/cpu/fast/cross_entropy.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

// A part is a range of the samples that are the dims before the axis.
static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  const dp_vector_cross_entropy *vector = state;
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  const dp_cross_entropy rows = {
      .samples = dp_product(extents, 0, axis), .classes = extents[axis], .inner = dp_product(extents, axis + 1, rank)};
  float most[DP_VECTOR_COLUMNS], ones[DP_VECTOR_COLUMNS];
  double log_sum[DP_VECTOR_COLUMNS];
  for (int j = 0; j < DP_VECTOR_COLUMNS; j++) ones[j] = 1;
  int64_t lo, hi;
  dp_part_range(rows.samples, part, parts, &lo, &hi);
  dp_fast_columns at = dp_fast_columns_of(&rows, lo, hi);
  while (dp_fast_columns_next(&rows, &at)) {
    const float *x = (const float *)in[0] + at.first;
    vector->log_sum(x, rows.classes, rows.inner, at.width, most, log_sum);
    vector->softmax(x, rows.classes, rows.inner, at.width, most, log_sum, ones, (float *)out[0] + at.first);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_fast_Softmax = {
    .name = "cpu.fast.Softmax",
    .op = "Softmax",
    .domain = "",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .shares_state = true,
    .match = match,
    .prepare = dp_fast_cross_entropy_prepare,
    .run = run,
};
