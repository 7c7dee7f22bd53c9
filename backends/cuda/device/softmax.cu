// Softmax of rows of type T, a block for each. LOGARITHM: 1 for LogSoftmax. Every element is read and written by the
// same thread in the end, so that y may be x.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/rows.h"

DP_EXPONENTIALS(LOCAL(exponentials))

DP_BLOCK_KERNEL(dp_softmax_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_i64 at = dp_block() / a.inner * a.length * a.inner + dp_block() % a.inner;
  const T *x = (const T *)a.x + at;
  T *y = (T *)a.y + at;
  const dp_exponentials row = LOCAL(exponentials)(x, a.length, a.inner, shared);
  for (dp_i64 k = dp_thread(); k < a.length; k += dp_threads()) {
    const double z = (double)GET(x[k * a.inner]) - row.most - row.log_sum;
    y[k * a.inner] = PUT(LOGARITHM ? (W)z : DP_EXP(z));
  }
}
