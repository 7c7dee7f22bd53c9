// Tile: operand 0 repeated along each dim. Any type, by its bytes; a row is the last dim.
#include "backends/cpu/reference/reference.h"

// The element offset of the operand's row that row `row` of the result copies.
static int64_t from_row(const dp_local *x, const dp_local *y, int64_t row) {
  int64_t at = 0, stride = x->extents[x->rank - 1];
  for (int d = x->rank - 2; d >= 0; d--) {
    at += row % y->extents[d] % x->extents[d] * stride;
    row /= y->extents[d];
    stride *= x->extents[d];
  }
  return at;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *x = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  int64_t width = x->rank ? x->extents[x->rank - 1] : 1, full = y->rank ? y->extents[y->rank - 1] : 1;
  dp_part_range(dp_out_count(spec, 0) / full, part, parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    const char *from = (const char *)in[0] + (x->rank ? from_row(x, y, row) : 0) * bytes;
    for (int64_t i = 0; i < full; i += width) dp_copy((char *)out[0] + (row * full + i) * bytes, from, width * bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Tile = {
    .name = "cpu.reference.Tile",
    .op = "Tile",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
