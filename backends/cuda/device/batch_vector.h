// What a thread of batch normalization reads and writes at once: VECTOR neighbours.
//
// x, y and their gradients are of type T, all else of U; GET_U and PUT_U are to U what GET and PUT are to T. Where
// planes are neighbours everything is computed in float64, whatever these are, and REAL is double: sums of a million
// elements need it, and so does x - mean where the mean is large. A GPU for training converts 16 elements a clock and
// multiprocessor, and adds more; that is less time than memory takes for them. Where channels are neighbours
// batch_rows.h says what is not.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_VECTOR_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_VECTOR_H

#include "backends/cuda/device/batch_normalization.h"
#include "backends/cuda/device/prelude.h"
#include "backends/cuda/device/vectors.h"

typedef struct DP_ALIGNED(VECTOR * sizeof(T)) {
  T e[VECTOR];
} LOCAL(vector);

// Vectors that a thread has under way at once, of all operands together: it loads them, computes, and stores.
enum { DP_BATCH_LOADS = VECTOR > 1 ? 4 : 8 };

// Where channels are neighbours, a launch leaves for another what takes elements to results, in the type REAL in which
// that is done: float where T has 16 bits and U no more than 32, so that there are fewer conversions and registers. Its
// rounding is far below that of an element, also where elements lie far from 0, as these are rounded in proportion.
typedef struct DP_ALIGNED(16) {
  REAL mean, factor, shift, slope;
} LOCAL(line_of);

DP_DEVICE void LOCAL(put_line)(const dp_batch_arguments *a, dp_i64 channel, dp_batch_line line) {
  const LOCAL(line_of) made = {(REAL)line.mean, (REAL)line.factor, (REAL)line.shift, (REAL)line.slope};
  ((LOCAL(line_of) *)a->lines)[channel] = made;
}

// x, or 0 if it is no number to measure distances from.
DP_DEVICE double dp_batch_origin(double x) { return x - x == 0 ? x : 0; }

#endif
