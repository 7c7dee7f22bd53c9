// Softmax of rows of type T, a block for each, or for each share. LOGARITHM: 1 for LogSoftmax. STEPS: 1 to round every
// step to T, as the CPU does for Softmax in float16. Every element is read and written by the same thread in the end,
// so that y may be x.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/held.h"

DP_ADD_EXPONENTIAL(LOCAL(add))
DP_EXPONENTIALS(LOCAL(exponentials), LOCAL(add))
DP_HOLD(LOCAL(hold))

// The exponential of x - most, both steps rounded.
DP_DEVICE W LOCAL(step)(T x, double most) {
  const W z = GET(PUT((double)GET(x) - most));
  return GET(PUT(DP_EXP(z)));
}

// x: a row whose elements are `stride` apart.
DP_DEVICE void LOCAL(by_steps)(const dp_softmax_arguments *a, const T *x, dp_i64 stride, T *y, double *shared) {
  double most = -DP_INFINITY, sum = 0;
  for (dp_i64 k = dp_thread(); k < a->length; k += dp_threads()) most = fmax(most, (double)GET(x[k * stride]));
  most = dp_block_max(most, shared);
  for (dp_i64 k = dp_thread(); k < a->length; k += dp_threads()) sum += (double)LOCAL(step)(x[k * stride], most);
  const W whole = GET(PUT(dp_round_to_odd(dp_block_sum(sum, shared))));
  for (dp_i64 k = dp_thread(); k < a->length; k += dp_threads())
    y[k * a->inner] = PUT(LOCAL(step)(x[k * stride], most) / whole);
}

DP_BLOCK_KERNEL(dp_softmax_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED T held[DP_HELD];
  dp_i64 stride = a.inner;
  const dp_row_share mine = dp_row_share_of(a.length, a.shares, dp_block());
  const dp_i64 at = mine.row / a.inner * a.length * a.inner + mine.row % a.inner;
  const T *x = LOCAL(hold)((const T *)a.x + at, a.length, &stride, held);
  T *y = (T *)a.y + at;
  if (STEPS) {
    LOCAL(by_steps)(&a, x, stride, y, shared);
    return;
  }
  const dp_exponentials row = LOCAL(exponentials)(a.parts, a.shares, mine.row, x, a.length, stride, shared);
  const double log_sum = dp_log_sum(row);
  for (dp_i64 k = mine.first + dp_thread(); k < mine.end; k += dp_threads()) {
    const double z = (double)GET(x[k * stride]) - row.most - log_sum;
    y[k * a.inner] = PUT(LOGARITHM ? (W)z : DP_EXP(z));
  }
}
