// Gemm: alpha * A' * B' + beta * C. transA and transB transpose A and B; C is optional and broadcasts.
#include "backends/cpu/reference/matrix.h"

// Operand i, of rank 2, as a matrix, transposed if `transposed`.
static dp_matrix matrix_of(const dp_kernel_spec *spec, int i, const void *data, bool transposed) {
  int64_t columns = dp_in_extents(spec, i)[1];
  return transposed ? (dp_matrix){data, 1, columns} : (dp_matrix){data, columns, 1};
}

static dp_matrix bias_of(const dp_kernel_spec *spec, const void *const *in) {
  if (!dp_has_in(spec, 2)) return (dp_matrix){0};
  int rank = dp_in_rank(spec, 2);
  const int64_t *extents = dp_in_extents(spec, 2);
  int64_t rows = rank > 1 ? extents[rank - 2] : 1, columns = rank > 0 ? extents[rank - 1] : 1;
  return (dp_matrix){in[2], rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  bool trans_a = dp_node_int(spec->node, "transA", 0), trans_b = dp_node_int(spec->node, "transB", 0);
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, m = dp_out_extents(spec, 0)[0], n = dp_out_extents(spec, 0)[1], bytes = (int64_t)dp_type_bytes(dtype);
  int64_t k = dp_in_extents(spec, 0)[trans_a ? 0 : 1];
  dp_part_range(m, part, parts, &lo, &hi);
  if (lo == hi || n == 0) return DP_OK;
  dp_matrix a = matrix_of(spec, 0, in[0], trans_a), b = matrix_of(spec, 1, in[1], trans_b), c = bias_of(spec, in);
  if (k) a.data = (const char *)a.data + lo * a.row * bytes;
  if (c.data) c.data = (const char *)c.data + lo * c.row * bytes;
  dp_matrix_multiply(dtype, hi - lo, n, k, dp_node_float(spec->node, "alpha", 1), a, b,
                     dp_node_float(spec->node, "beta", 1), c, (char *)out[0] + lo * n * bytes);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Gemm = {
    .name = "cpu.reference.Gemm",
    .op = "Gemm",
    .domain = "",
    .parts = true,
    .run = run,
};
