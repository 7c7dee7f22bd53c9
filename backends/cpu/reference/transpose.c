// Transpose: result dim d is operand dim perm[d]; without `perm` the order is reversed.
#include "backends/cpu/reference/strided_rows.h"

static dp_strided_rows rows_of(const dp_kernel_spec *spec) {
  size_t count;
  int rank = dp_in_rank(spec, 0);
  const int64_t *perm = dp_node_ints(spec->node, "perm", &count);
  int64_t strides[DP_MAX_RANK], stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= dp_in_extents(spec, 0)[d];
  }
  dp_strided_rows rows = {.rank = rank};
  for (int d = 0; d < rank; d++) {
    int from = perm ? (int)perm[d] : rank - 1 - d;
    rows.extents[d] = dp_in_extents(spec, 0)[from];
    rows.strides[d] = strides[from];
  }
  return rank ? rows : dp_strided_rows_scalar();
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_strided_rows rows = rows_of(spec);
  return dp_strided_rows_copy(&(dp_call){spec, in, out, scratch, part, parts}, &rows);
}

const dp_kernel dp_kernel_reference_Transpose = {
    .name = "cpu.reference.Transpose",
    .op = "Transpose",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
