// The index of the most extreme element of type T: BETTER(a, b) tells whether a is more extreme than b, and LAST
// whether the last of equal ones is meant. NaN is the most extreme.
#include "backends/cuda/device/arg.h"

DP_KERNEL(dp_arg_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {
    const T *x = (const T *)a.x + i / a.inner * a.length * a.inner + i % a.inner;
    dp_i64 best = 0;
    for (dp_i64 k = 1; k < a.length; k++) {
      const W value = GET(x[k * a.inner]), most = GET(x[best * a.inner]);
      const bool nan = value != value, most_nan = most != most;
      const bool better = nan ? !most_nan : !most_nan && BETTER(value, most), equal = nan ? most_nan : value == most;
      if (better || (LAST && equal)) best = k;
    }
    a.y[i] = best;
  }
}
