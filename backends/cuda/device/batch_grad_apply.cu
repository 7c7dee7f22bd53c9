// dx = scale * invstd * (dy - sum(dy) / count - z * sum(dy * z) / count) for a share of a channel; dbias and dscale are
// the two sums, of all groups.
#include "backends/cuda/device/batch_share.h"

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED double sums[2];
  const dp_batch_share s = dp_batch_share_of(&a, a.parts);
  const dp_i64 c = s.channel;
  if (dp_thread() < 2) {
    double sum = 0;
    for (dp_i64 k = 0; k < a.splits; k++) sum += a.partial[2 * (c * a.splits + k) + dp_thread()];
    sums[dp_thread()] = sum;
    if (s.share == 0) {
      void *result = dp_thread() ? a.dscale : a.dbias;
      double *total = a.totals + 2 * c + dp_thread();
      *total = a.first_group ? sum : *total + sum;
      if (a.last_group && result) ((T *)result)[c] = PUT(*total);
    }
  }
  dp_barrier();
  if (!a.dx) return;
  const double mean = (double)GET(((const T *)a.given_mean)[c]), invstd = (double)GET(((const T *)a.given_invstd)[c]);
  const double factor = (double)GET(((const T *)a.scale)[c]) * invstd, count = (double)(a.samples * a.inner);
  DP_BATCH_EACH(&a, &s, i) {
    const dp_i64 at = dp_batch_at(&a, &s, i);
    const double z = ((double)GET(((const T *)a.x)[at]) - mean) * invstd;
    ((T *)a.dx)[at] = PUT(factor * ((double)GET(((const T *)a.dy)[at]) - sums[0] / count - z * sums[1] / count));
  }
}
