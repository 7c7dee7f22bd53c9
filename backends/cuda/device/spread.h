// Arguments of spread.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_SPREAD_H
#define DP_BACKENDS_CUDA_DEVICE_SPREAD_H

// Element i of y is factor * c[i / columns % rows * row + i % columns * column], or 0 if c is NULL; with `adds`, that
// is added to what y holds.
typedef struct {
  void *y;
  const void *c;
  long long count, rows, columns, row, column;  // row, column: strides of c, 0 where it is broadcast
  double factor;
  long long adds;
} dp_spread_arguments;

#endif
