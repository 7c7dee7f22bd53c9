// Batch normalization of a group of samples, and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_NORMALIZATION_H

// x, y, dy, dx (samples, channels, inner), at the group's first sample. They have one type, parameters and statistics
// have another, or the same; these are of each channel. Block b works on channel b / blocks, share b % blocks, where
// `blocks` is `splits` for the sums and `parts` for what uses them.
typedef struct {
  long long samples, channels, inner, splits, parts;
  double *partial;  // scratch (channels, splits): count, mean, centred squares; or sums of dy and of dy * z
  double epsilon, momentum;
  int training, unbiased;
  const void *x, *scale, *bias;
  const void *mean, *variance;  // the old running buffers
  void *y;
  void *running_mean, *running_variance;  // results; NULL: not wanted, like those that follow
  void *saved_mean, *saved_invstd;
  void *first_mean, *first_variance;
  // Of the gradient, which reads the saved statistics. totals: scratch (channels, 2), of the groups so far.
  const void *dy, *given_mean, *given_invstd;
  double *totals;
  int first_group, last_group;
  void *dx, *dscale, *dbias;
} dp_batch_arguments;

#endif
