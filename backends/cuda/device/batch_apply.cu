// Joins the statistics of a channel's shares and normalises a share by them.
#include "backends/cuda/device/batch_share.h"

typedef struct {
  double mean, variance;
} LOCAL(statistics);

// Chan, Golub, LeVeque: "Algorithms for Computing the Sample Variance", 1983.
DP_DEVICE LOCAL(statistics) LOCAL(join)(const dp_batch_arguments *a, dp_i64 channel) {
  double count = 0, mean = 0, squares = 0;
  for (dp_i64 k = 0; k < a->splits; k++) {
    const double *partial = a->partial + 3 * (channel * a->splits + k), all = count + partial[0];
    if (partial[0] == 0) continue;
    const double away = partial[1] - mean;
    mean += away * partial[0] / all;
    squares += partial[2] + away * away * count * partial[0] / all;
    count = all;
  }
  const LOCAL(statistics) made = {mean, count > 0 ? squares / count : 0};
  return made;
}

// Updates the running buffers and keeps what the gradient needs.
DP_DEVICE void LOCAL(keep)(const dp_batch_arguments *a, dp_i64 c, double mean, double variance, double invstd) {
  const double count = (double)(a->samples * a->inner), kept = count > 0 ? a->momentum : 1;  // no samples: as they were
  const double kept_variance = a->unbiased ? variance * count / (count > 1 ? count - 1 : 1) : variance;
  if (a->running_mean && a->training)
    ((T *)a->running_mean)[c] = PUT((double)GET(((const T *)a->mean)[c]) * kept + mean * (1 - kept));
  if (a->running_variance && a->training)
    ((T *)a->running_variance)[c] = PUT((double)GET(((const T *)a->variance)[c]) * kept + kept_variance * (1 - kept));
  if (a->saved_mean) ((T *)a->saved_mean)[c] = PUT(mean);
  if (a->saved_invstd) ((T *)a->saved_invstd)[c] = PUT(invstd);
  if (a->first_mean) ((T *)a->first_mean)[c] = PUT(mean);
  if (a->first_variance) ((T *)a->first_variance)[c] = PUT(kept_variance);
}

DP_BLOCK_KERNEL(dp_batch_arguments) {
  DP_SHARED LOCAL(statistics) shared;
  const dp_batch_share s = dp_batch_share_of(&a, a.parts);
  const dp_i64 c = s.channel;
  if (dp_thread() == 0) {
    if (a.training) {
      shared = LOCAL(join)(&a, c);
    } else {
      shared.mean = (double)GET(((const T *)a.mean)[c]);
      shared.variance = (double)GET(((const T *)a.variance)[c]);
    }
  }
  dp_barrier();
  const double mean = shared.mean, invstd = 1 / sqrt(shared.variance + a.epsilon);
  const double factor = invstd * (double)GET(((const T *)a.scale)[c]), shift = (double)GET(((const T *)a.bias)[c]);
  if (dp_thread() == 0 && s.share == 0) LOCAL(keep)(&a, c, mean, shared.variance, invstd);
  DP_BATCH_EACH(&a, &s, i) {
    const dp_i64 at = dp_batch_at(&a, &s, i);
    ((T *)a.y)[at] = PUT(((double)GET(((const T *)a.x)[at]) - mean) * factor + shift);
  }
}
