// Arguments of spread.cu.
#ifndef DP_BACKENDS_CUDA_DEVICE_SPREAD_H
#define DP_BACKENDS_CUDA_DEVICE_SPREAD_H

// Element i of y is factor * c[i / columns % rows * row + i % columns * column], or 0 if c is NULL; with `adds`, that
// is added to what y holds; with `parts`, to the sum of so many x, each of `count` elements, in order.
typedef struct {
  void *y;
  const void *c;
  long long count, rows, columns, row, column;  // row, column: strides of c, 0 where it is broadcast
  double factor;
  long long adds, parts;
  const void *x;
} dp_spread_arguments;

#endif
