// MatMul's extents. See mat_mul_extents.h.
#include "backends/base/mat_mul_extents.h"

// Extent of leading dim d (of `rank`).
static int64_t leading(const dp_local *x, int rank, int d) {
  int own = x->rank - 2, at = d - (rank - own);
  return own > 0 && at >= 0 ? x->extents[at] : 1;
}

dp_mat_mul dp_mat_mul_extents(const dp_local *a, const dp_local *b) {
  dp_mat_mul e = {
      .m = a->rank > 1 ? a->extents[a->rank - 2] : 1, .n = b->rank > 1 ? b->extents[b->rank - 1] : 1, .batches = 1};
  e.k = a->extents[a->rank - 1];
  e.rank = (int)dp_max_i64(dp_max_i64(a->rank, b->rank) - 2, 0);
  int64_t a_stride = e.m * e.k, b_stride = e.k * e.n;
  for (int d = e.rank - 1; d >= 0; d--) {
    int64_t ea = leading(a, e.rank, d), eb = leading(b, e.rank, d);
    e.extents[d] = ea == 1 ? eb : ea;
    e.a_stride[d] = ea == 1 ? 0 : a_stride;
    e.b_stride[d] = eb == 1 ? 0 : b_stride;
    a_stride *= ea;
    b_stride *= eb;
    e.batches *= e.extents[d];
  }
  return e;
}

void dp_mat_mul_offsets(const dp_mat_mul *e, int64_t batch, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int d = e->rank - 1; d >= 0; d--) {
    *a += batch % e->extents[d] * e->a_stride[d];
    *b += batch % e->extents[d] * e->b_stride[d];
    batch /= e->extents[d];
  }
}
