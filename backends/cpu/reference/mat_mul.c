// MatMul: NumPy's matmul.
#include "backends/base/mat_mul_extents.h"
#include "backends/cpu/reference/matrix.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_mat_mul e = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(e.batches * e.m, part, parts, &lo, &hi);  // the rows of all products
  while (lo < hi) {
    int64_t row = lo % e.m, rows = dp_min_i64(e.m - row, hi - lo), a_at, b_at;
    dp_mat_mul_offsets(&e, lo / e.m, &a_at, &b_at);
    dp_matrix a = {(const char *)in[0] + (a_at + row * e.k) * bytes, e.k, 1};
    dp_matrix b = {(const char *)in[1] + b_at * bytes, e.n, 1};
    dp_matrix_multiply(dtype, rows, e.n, e.k, 1, a, b, 0, (dp_matrix){0}, (char *)out[0] + lo * e.n * bytes);
    lo += rows;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_MatMul = {
    .name = "cpu.reference.MatMul",
    .op = "MatMul",
    .domain = "",
    .parts = true,
    .run = run,
};
