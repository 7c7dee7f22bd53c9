// The statistics of a channel, joined from those of its shares, and what is kept of them. A file that includes this has
// U defined, the type of parameters and statistics.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_STATISTICS_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_STATISTICS_H

#include "backends/cuda/device/batch_vector.h"
#include "backends/cuda/device/block.h"

typedef struct {
  double mean, variance;
} LOCAL(statistics);

// Of all shares, by all threads. The squares of a share move to the channel's mean by their count times the square of
// the distance. Chan, Golub, LeVeque: "Algorithms for Computing the Sample Variance", 1983.
DP_DEVICE LOCAL(statistics) LOCAL(join)(const dp_batch_arguments *a, dp_i64 channel, double *shared) {
  const double *partial = a->partial + 3 * channel * a->splits, count = (double)(a->samples * a->inner);
  const double origin = dp_batch_origin(partial[1]);
  double sum = 0, squares = 0;
  for (dp_i64 k = dp_thread(); k < a->splits; k += dp_threads()) sum += partial[3 * k] * (partial[3 * k + 1] - origin);
  const double mean = count > 0 ? origin + dp_block_sum(sum, shared) / count : 0;
  for (dp_i64 k = dp_thread(); k < a->splits; k += dp_threads()) {
    const double apart = partial[3 * k + 1] - mean;
    squares += partial[3 * k + 2] + partial[3 * k] * apart * apart;
  }
  squares = dp_block_sum(squares, shared);
  const LOCAL(statistics) made = {mean, count > 0 ? squares / count : 0};
  return made;
}

// Updates the running buffers and keeps what the gradient needs.
DP_DEVICE void LOCAL(keep)(const dp_batch_arguments *a, dp_i64 c, double mean, double variance, double invstd) {
  const double count = (double)(a->samples * a->inner), kept = count > 0 ? a->momentum : 1;  // no samples: as they were
  const double kept_variance = a->unbiased ? variance * count / (count > 1 ? count - 1 : 1) : variance;
  if (a->running_mean && a->training)
    ((U *)a->running_mean)[c] = PUT_U((double)GET_U(((const U *)a->mean)[c]) * kept + mean * (1 - kept));
  if (a->running_variance && a->training)
    ((U *)a->running_variance)[c] =
        PUT_U((double)GET_U(((const U *)a->variance)[c]) * kept + kept_variance * (1 - kept));
  if (a->saved_mean) ((U *)a->saved_mean)[c] = PUT_U(mean);
  if (a->saved_invstd) ((U *)a->saved_invstd)[c] = PUT_U(invstd);
  if (a->first_mean) ((U *)a->first_mean)[c] = PUT_U(mean);
  if (a->first_variance) ((U *)a->first_variance)[c] = PUT_U(kept_variance);
}

// Of channel c, by all threads of a block; one of them keeps what is wanted if `keeps`. Elements of 16
// bits become results by the batch's statistics as they are kept, so that these can be made again. Their own steps are
// wider than what is lost of statistics of 32 bits.
DP_DEVICE dp_batch_line LOCAL(line)(const dp_batch_arguments *a, dp_i64 c, int keeps, double *shared) {
  LOCAL(statistics) of;
  if (a->training) {
    of = LOCAL(join)(a, c, shared);
  } else {
    of.mean = (double)GET_U(((const U *)a->mean)[c]);
    of.variance = (double)GET_U(((const U *)a->variance)[c]);
  }
  const double invstd = 1 / sqrt(of.variance + a->epsilon);
  if (dp_thread() == 0 && keeps) LOCAL(keep)(a, c, of.mean, of.variance, invstd);
  const int kept = a->training && sizeof(T) < sizeof(U);
  const double mean = kept ? (double)GET_U(PUT_U(of.mean)) : of.mean;
  const double slope = kept ? (double)GET_U(PUT_U(invstd)) : invstd;
  const dp_batch_line made = {mean, (double)GET_U(((const U *)a->scale)[c]) * slope,
                              (double)GET_U(((const U *)a->bias)[c]), 0};
  return made;
}

#endif
