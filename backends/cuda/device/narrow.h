// Cast from and to types that functions do not compute with, of one byte an element: floats of 8 bits and fewer,
// integers of 4 and 2.
#ifndef DP_BACKENDS_CUDA_DEVICE_NARROW_H
#define DP_BACKENDS_CUDA_DEVICE_NARROW_H

enum { DP_NARROW_CODES = 256 };

// The host fills it in by ir/graph/element.h, where these types are defined.
typedef struct {
  long long count;
  const void *x;
  void *y;
  float from[DP_NARROW_CODES], to[DP_NARROW_CODES];  // the number of each code
  int most;                      // the code of the largest number of the result's type; those of 0 .. it are in order
  int sign;                      // the bit of negative numbers
  int nan, over[2], minus_zero;  // codes of NaN, of what is too large and too small, of -0
  double limit;                  // the number after the largest, were there one
  int up, down;                  // of powers of two: to round to the next, to the one before; else to the nearest
  int unused_bits;               // of 64, for an integer
} dp_narrow_arguments;

#endif
