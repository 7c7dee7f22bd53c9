// The negative logarithm of each label's probability, a block for each label, from scores of type T; and where it is
// wanted, dloss / divisor * (softmax(scores) - onehot(label)) in their place, with 0 behind each row. As if scores were
// cast to float32, and the gradient from it.
#include "backends/cuda/device/exponentials.h"
#include "backends/cuda/device/head_loss.h"
#include "backends/cuda/device/labels.h"
#include "backends/cuda/device/vectors.h"

enum { LOCAL(each) = DP_HEAD_LOSS_VECTOR / sizeof(T), LOCAL(warps) = 1024 / DP_WARP };

typedef struct DP_ALIGNED(DP_HEAD_LOSS_VECTOR) {
  T e[LOCAL(each)];
} LOCAL(vector);

// As DP_ADD_EXPONENTIAL, a vector at a time: one that equals the largest adds 1, also if that is infinite.
DP_DEVICE void LOCAL(add)(float *most, float *sum, const LOCAL(vector) * v, int count) {
  float top = *most;
  DP_UNROLL
  for (int l = 0; l < LOCAL(each); l++)
    if (l < count) top = fmaxf(top, GET(v->e[l]));
  if (top > *most) {
    *sum *= expf(*most - top);
    *most = top;
  }
  DP_UNROLL
  for (int l = 0; l < LOCAL(each); l++) {
    const float z = GET(v->e[l]);
    if (l < count) *sum += z == top ? 1 : expf(z - top);
  }
}

// How many of the vector's elements come before element `end`.
DP_DEVICE int LOCAL(before)(dp_i64 vector, dp_i64 end) {
  const dp_i64 left = end - vector * LOCAL(each);
  return left < 0 ? 0 : left < LOCAL(each) ? (int)left : (int)LOCAL(each);
}

DP_LABELS(LOCAL(weight))

DP_BLOCK_KERNEL(dp_head_loss_arguments) {
  DP_SHARED double shared[LOCAL(warps)];
  T *scores = (T *)(a.loss.scores) + dp_block() * a.pitch;
  LOCAL(vector) *vectors = (LOCAL(vector) *)scores;
  const dp_i64 count = (a.loss.classes + LOCAL(each) - 1) / LOCAL(each), all = a.pitch / LOCAL(each);
  float most = -DP_INFINITY, sum = 0;
  for (dp_i64 k = dp_thread(); k < count; k += dp_threads()) {
    const LOCAL(vector) v = vectors[k];
    LOCAL(add)(&most, &sum, &v, LOCAL(before)(k, a.loss.classes));
  }
  const dp_exponentials mine = {(double)most, (double)sum}, row = dp_block_exponentials(mine, shared);
  dp_i64 label = 0;
  const bool counts = LOCAL(weight)(&a.loss, a.first + dp_block(), &label) != 0;
  if (dp_thread() == 0)
    a.loss.losses[a.first + dp_block()] = counts ? row.most + dp_log_sum(row) - (double)GET(scores[label]) : 0;
  if (!a.loss.dloss) return;
  dp_barrier();  // before somebody writes where the label's score is
  const float top = (float)row.most,
              factor = counts ? (float)((double)*(const float *)a.loss.dloss / a.loss.divisor) : 0;
  const float share = (float)(1 / row.sum) + (top - top);  // NaN if the largest is infinite
  for (dp_i64 k = dp_thread(); k < all; k += dp_threads()) {
    const int count = counts ? LOCAL(before)(k, a.loss.classes) : 0, own = LOCAL(before)(k, label);
    const bool has_label = label / LOCAL(each) == k;
    LOCAL(vector) v = vectors[k];
    DP_UNROLL
    for (int l = 0; l < LOCAL(each); l++) {
      const float p = expf(GET(v.e[l]) - top) * share - (has_label && l == own ? 1.0f : 0.0f);
      v.e[l] = PUT(l < count ? factor * p : 0.0f);
    }
    vectors[k] = v;
  }
}
