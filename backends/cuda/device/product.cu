// Products of matrices over type T, a block for each tile of a result. Sums are taken in type A in the order of k;
// SCALE multiplies one by a factor, which is a whole number for integers.
#include "backends/cuda/device/product.h"

DP_TILE_PRODUCT(LOCAL(multiply), A)
DP_TILE_LOAD(LOCAL(load), A)

DP_BLOCK_KERNEL(dp_product_arguments) {
  DP_SHARED A left[DP_TILE_SHARED];
  DP_SHARED A right[DP_TILE_SHARED];
  const dp_i64 across = dp_product_tiles(a.n), down = dp_product_tiles(a.m), batch = dp_block() / across / down;
  const dp_i64 row = dp_block() / across % down * DP_TILE_SIDE, column = dp_block() % across * DP_TILE_SIDE;
  const T *x = (const T *)a.a + row * a.a_row, *y = (const T *)a.b + column * a.b_column;
  dp_i64 rest = batch;
  for (dp_i64 d = a.rank - 1; d >= 0; d--) {
    x += rest % a.extents[d] * a.a_stride[d];
    y += rest % a.extents[d] * a.b_stride[d];
    rest /= a.extents[d];
  }
  A sums[DP_TILE_EACH * DP_TILE_EACH] = {0};
  for (dp_i64 k = 0; k < a.k; k += DP_TILE_DEPTH) {
    LOCAL(load)(x + k * a.a_column, a.m - row, a.a_row, a.k - k, a.a_column, left);
    LOCAL(load)(y + k * a.b_row, a.n - column, a.b_column, a.k - k, a.b_row, right);
    dp_barrier();
    LOCAL(multiply)(left, right, sums);
    dp_barrier();  // before somebody writes there again
  }
  for (int i = 0; i < DP_TILE_EACH; i++)
    for (int j = 0; j < DP_TILE_EACH; j++) {
      const dp_i64 r = row + dp_tile_row(i), c = column + dp_tile_column(j);
      if (r >= a.m || c >= a.n) continue;
      A sum = SCALE(a.alpha, sums[i * DP_TILE_EACH + j]);
      if (a.c) sum += SCALE(a.beta, (A)GET(((const T *)a.c)[r * a.c_row + c * a.c_column]));
      ((T *)a.y)[(batch * a.m + r) * a.n + c] = PUT(sum);
    }
}
