// Batch normalization of a group of samples, and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_NORMALIZATION_H

// What takes an element of a channel to its result: y = (x - mean) * factor + shift, or dx = factor * (dy - shift - (x
// - mean) * slope).
typedef struct {
  double mean, factor, shift, slope;
} dp_batch_line;

// x, y, dy, dx (samples, channels, inner), at the group's first sample. They have one type, parameters and statistics
// have another, or the same; these are of each channel. A channel's elements are divided into shares, `splits` for the
// sums and `parts` for what uses them. Where planes are neighbours in memory, block b works on channel b / shares,
// share b % shares, and joins all sums of its channel for itself. Where channels are neighbours, block b works on share
// b / tiles of tile b % tiles, which has `columns` vectors of a row, and a launch between the two joins the sums.
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
  // Where channels are neighbours.
  long long columns, tiles;
  void *lines;  // scratch (channels), of dp_batch_line or the same in float32
  // What stands around it in a region (backends/cuda/kernels/region_batch.h): what is added to y or dy; the result of
  // the Relu whose gradient comes before; what that gradient makes, or where it is not stored, in scratch, a bit for
  // each element.
  const void *other, *z;
  void *given;
  unsigned char *marks;
} dp_batch_arguments;

// Of a function: how it knows which elements Relu lets through, from its result, from bits, or by making it AGAIN; and
// what a gradient's sums leave of that for the launch that uses them.
enum { DP_BATCH_NO_RELU, DP_BATCH_RELU, DP_BATCH_MARKED, DP_BATCH_AGAIN };
enum { DP_BATCH_LEAVES_NOTHING, DP_BATCH_LEAVES_GIVEN, DP_BATCH_LEAVES_MARKS };

enum { DP_BATCH_THREADS = 256, DP_BATCH_COLUMNS = 32 };  // of a block where channels are neighbours; at most

#endif
