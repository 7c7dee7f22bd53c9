// MatMul: NumPy's matmul. Operands of rank 1 count as a row on the left, a column on the right; leading dims broadcast.
#include "backends/cpu/reference/matrix.h"

typedef struct {
  int64_t m, n, k, batches;
  int rank;                                          // of the leading dims
  int64_t extents[DP_MAX_RANK];                      // of the result
  int64_t a_step[DP_MAX_RANK], b_step[DP_MAX_RANK];  // elements; 0 where broadcast
} geometry;

static bool match(const dp_kernel_spec *spec) { return dp_type_is_float(spec->inputs[0].dtype); }

// Extent of leading dim d (of `rank`) of operand i.
static int64_t leading(const dp_kernel_spec *spec, int i, int rank, int d) {
  int own = dp_in_rank(spec, i) - 2, at = d - (rank - own);
  return own > 0 && at >= 0 ? dp_in_extents(spec, i)[at] : 1;
}

static geometry geometry_of(const dp_kernel_spec *spec) {
  const int64_t *a = dp_in_extents(spec, 0), *b = dp_in_extents(spec, 1);
  int ra = dp_in_rank(spec, 0), rb = dp_in_rank(spec, 1);
  geometry g = {.m = ra > 1 ? a[ra - 2] : 1, .n = rb > 1 ? b[rb - 1] : 1, .k = a[ra - 1], .batches = 1};
  g.rank = (ra > rb ? ra : rb) - 2;
  if (g.rank < 0) g.rank = 0;
  int64_t a_step = g.m * g.k, b_step = g.k * g.n;
  for (int d = g.rank - 1; d >= 0; d--) {
    int64_t ea = leading(spec, 0, g.rank, d), eb = leading(spec, 1, g.rank, d);
    g.extents[d] = ea == 1 ? eb : ea;
    g.a_step[d] = ea == 1 ? 0 : a_step;
    g.b_step[d] = eb == 1 ? 0 : b_step;
    a_step *= ea;
    b_step *= eb;
    g.batches *= g.extents[d];
  }
  return g;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  geometry g = geometry_of(spec);
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(g.batches * g.m, part, parts, &lo, &hi);  // rows of all products
  while (lo < hi) {
    int64_t batch = lo / g.m, row = lo % g.m, rows = dp_min_i64(g.m - row, hi - lo), a_at = 0, b_at = 0;
    for (int d = g.rank - 1; d >= 0; d--) {
      a_at += batch % g.extents[d] * g.a_step[d];
      b_at += batch % g.extents[d] * g.b_step[d];
      batch /= g.extents[d];
    }
    dp_matrix a = {(const char *)in[0] + (a_at + row * g.k) * bytes, g.k, 1};
    dp_matrix b = {(const char *)in[1] + b_at * bytes, g.n, 1};
    dp_matrix_multiply(dtype, rows, g.n, g.k, 1, a, b, 0, (dp_matrix){0}, (char *)out[0] + lo * g.n * bytes);
    lo += rows;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_MatMul = {
    .name = "cpu.reference.MatMul",
    .op = "MatMul",
    .domain = "",
    .match = match,
    .parts = true,
    .run = run,
};
