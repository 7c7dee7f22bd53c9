// The weighted negative logarithm of each label's probability, a block for each label.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/held.h"
#include "backends/cuda/device/labels.h"

DP_EXPONENTIALS(LOCAL(exponentials))
DP_HOLD(LOCAL(hold))
DP_LABELS(LOCAL(weight))

DP_BLOCK_KERNEL(dp_cross_entropy_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED T held[DP_HELD];
  dp_i64 stride = a.inner;
  const dp_i64 i = dp_block(), at = i / a.inner * a.classes * a.inner + i % a.inner;
  const T *scores = LOCAL(hold)((const T *)a.scores + at, a.classes, &stride, held);
  const dp_exponentials row = LOCAL(exponentials)(scores, a.classes, stride, shared);
  dp_i64 label;
  if (dp_thread() == 0) {
    const double weight = LOCAL(weight)(&a, i, &label);
    // The scores of an ignored label do not count, not even NaN.
    const double loss = weight == 0 ? 0 : -weight * ((double)GET(scores[label * stride]) - row.most - row.log_sum);
    if (a.per_label)
      ((T *)a.y)[i] = PUT(loss);
    else
      a.losses[i] = loss;
  }
  if (!a.log_prob) return;
  T *log_prob = (T *)a.log_prob + at;
  for (dp_i64 c = dp_thread(); c < a.classes; c += dp_threads())
    log_prob[c * a.inner] = PUT((double)GET(scores[c * stride]) - row.most - row.log_sum);
}
