// The weighted negative logarithm of each label's probability, a block for each label, or for each
// share of its scores.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/held.h"
#include "backends/cuda/device/labels.h"

DP_ADD_EXPONENTIAL(LOCAL(add))
DP_EXPONENTIALS(LOCAL(exponentials), LOCAL(add))
DP_HOLD(LOCAL(hold))
DP_LABELS(LOCAL(weight))

DP_BLOCK_KERNEL(dp_cross_entropy_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  DP_SHARED T held[DP_HELD];
  dp_i64 stride = a.inner;
  const dp_row_share mine = dp_row_share_of(a.classes, a.shares, dp_block());
  const dp_i64 i = mine.row, at = i / a.inner * a.classes * a.inner + i % a.inner;
  const T *scores = LOCAL(hold)((const T *)a.scores + at, a.classes, &stride, held);
  const dp_exponentials row = LOCAL(exponentials)(a.parts, a.shares, i, scores, a.classes, stride, shared);
  const double log_sum = dp_log_sum(row);
  dp_i64 label;
  if (dp_thread() == 0 && mine.first == 0) {
    const double weight = LOCAL(weight)(&a, i, &label);
    // The scores of an ignored label do not count, not even NaN.
    const double loss = weight == 0 ? 0 : -weight * ((double)GET(scores[label * stride]) - row.most - log_sum);
    if (a.per_label)
      ((T *)a.y)[i] = PUT(loss);
    else
      a.losses[i] = loss;
  }
  if (!a.log_prob) return;
  T *log_prob = (T *)a.log_prob + at;
  for (dp_i64 c = mine.first + dp_thread(); c < mine.end; c += dp_threads())
    log_prob[c * a.inner] = PUT((double)GET(scores[c * stride]) - row.most - log_sum);
}
