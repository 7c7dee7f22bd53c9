// The elements that a block works on where channels are neighbours in memory (NHWC). What lies at one place of one
// sample is a row of all channels. Columns are those of vectors: each thread keeps to one, so that what belongs to its
// channels stays in registers, and goes through every some row of the block's share.
//
// What is done with single elements is done in type REAL (batch_vector.h). Squares and sums over a share are float64;
// the sums of a gradient begin with those of a few elements in REAL.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_ROWS_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_ROWS_H

#include "backends/cuda/device/batch_vector.h"

typedef struct {
  dp_i64 share, first, end;  // of the rows
  dp_i64 column;             // the thread's, in a row; columns beyond the last one have no vectors
  dp_i64 at, step;           // the thread's next vector, and how far apart they are
  int left;                  // vectors
} dp_batch_column;

DP_DEVICE dp_batch_column dp_batch_column_of(const dp_batch_arguments *a, dp_i64 shares) {
  const dp_i64 width = a->channels / VECTOR, all = a->samples * a->inner, share = dp_block() / a->tiles;
  const int columns = (int)a->columns, rows = dp_threads() / columns, row = dp_thread() / columns;
  const dp_i64 first = all * share / shares, end = all * (share + 1) / shares;
  const dp_i64 column = dp_block() % a->tiles * columns + dp_thread() % columns, mine = end - first - row;
  const int left = column < width && row < rows && mine > 0 ? (int)((mine + rows - 1) / rows) : 0;
  const dp_batch_column made = {share, first, end, column, (first + row) * width + column, rows * width, left};
  return made;
}

// Does TAKE(count), a loop body for the thread's next `count` vectors: `most` at a time, then one at a time.
#define DP_BATCH_EACH_ROW(column, most, TAKE)                  \
  do {                                                         \
    for (; (column).left >= (most); (column).left -= (most)) { \
      TAKE(most);                                              \
      (column).at += (most) * (column).step;                   \
    }                                                          \
    for (; (column).left > 0; (column).left--) {               \
      TAKE(1);                                                 \
      (column).at += (column).step;                            \
    }                                                          \
  } while (0)

// Where the vector number u of those that TAKE takes is.
DP_DEVICE dp_i64 dp_batch_row(const dp_batch_column *c, int u) { return c->at + u * c->step; }

// Sums of the block's channels. Each thread gives those of its VECTOR channels; thread k gets the one of channel
// dp_batch_channel(k), if there is one. shared: (VECTOR * DP_BATCH_THREADS). All threads call it.
DP_DEVICE double dp_batch_column_sum(const dp_batch_arguments *a, const double *values, double *shared) {
  const int columns = (int)a->columns, rows = DP_BATCH_THREADS / columns;
  DP_UNROLL
  for (int v = 0; v < VECTOR; v++) shared[v * DP_BATCH_THREADS + dp_thread()] = values[v];
  dp_barrier();
  double sum = 0;
  const double *from = shared + dp_thread() / columns * DP_BATCH_THREADS + dp_thread() % columns;
  for (int row = 0; row < rows && dp_thread() < columns * VECTOR; row++) sum += from[row * columns];
  dp_barrier();  // before somebody writes there again
  return sum;
}

// The channel whose sum thread k gets; -1: none.
DP_DEVICE dp_i64 dp_batch_channel(const dp_batch_arguments *a, int k) {
  const int columns = (int)a->columns;
  const dp_i64 channel = (dp_block() % a->tiles * columns + k % columns) * VECTOR + k / columns;
  return k < columns * VECTOR && channel < a->channels ? channel : -1;
}

#endif
