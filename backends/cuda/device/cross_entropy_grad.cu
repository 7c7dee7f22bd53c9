// dloss * weight / divisor * (softmax(scores) - onehot(label)), a block for each label, or for each share of
// its scores. Every score is read and its gradient written by the same thread in the end, so that y may be where the
// scores are.
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
  T *dscores = (T *)a.y + at;
  const dp_exponentials row = LOCAL(exponentials)(a.parts, a.shares, i, scores, a.classes, stride, shared);
  const double log_sum = dp_log_sum(row);
  dp_i64 label;
  const double weight = LOCAL(weight)(&a, i, &label);
  const double divisor = a.divisor != 0 ? a.divisor : *a.sums;
  const double factor = weight * (double)GET(((const T *)a.dloss)[a.per_label ? i : 0]) / divisor;
  for (dp_i64 c = mine.first + dp_thread(); c < mine.end; c += dp_threads()) {
    const double p = (double)DP_EXP((double)GET(scores[c * stride]) - row.most - log_sum);
    dscores[c * a.inner] = PUT(weight == 0 ? 0 : factor * (p - (c == label ? 1 : 0)));
  }
}
