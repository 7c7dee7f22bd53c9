// Products of matrices over type T, an element for each thread. Sums are taken in type A in the order of k; SCALE
// multiplies one by a factor, which is a whole number for integers.
#include "backends/cuda/device/product.h"

DP_KERNEL(dp_product_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_i64 column = i % a.n, row = i / a.n % a.m;
  const T *x = (const T *)a.a + row * a.a_row, *y = (const T *)a.b + column * a.b_column;
  dp_i64 rest = i / a.n / a.m;
  for (dp_i64 d = a.rank - 1; d >= 0; d--) {
    x += rest % a.extents[d] * a.a_stride[d];
    y += rest % a.extents[d] * a.b_stride[d];
    rest /= a.extents[d];
  }
  A sum = 0;
  for (dp_i64 k = 0; k < a.k; k++) sum += (A)GET(x[k * a.a_column]) * (A)GET(y[k * a.b_row]);
  sum = SCALE(a.alpha, sum);
  if (a.c) sum += SCALE(a.beta, (A)GET(((const T *)a.c)[row * a.c_row + column * a.c_column]));
  ((T *)a.y)[i] = PUT(sum);
}
