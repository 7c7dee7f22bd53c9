// Tiles of convolutions of images in blocks of 16 channels, which are vectors of AVX-512. With AVX2 there are none: six
// windows at a time, as many as its registers hold sums of, are slower than oneDNN.
#ifndef DP_BACKENDS_CPU_VECTOR_CONV_TILE_H
#define DP_BACKENDS_CPU_VECTOR_CONV_TILE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CONV_TILE_MOST = 14, DP_CONV_BLOCK = 16 };  // windows, channels

// Windows beside each other on a line of y, or as many on each of two lines, by two blocks of y's channels. Sums are
// taken tap by tap, channel by channel, each step with one rounding.
typedef struct {
  const float *x;       // the elements of the first window; those of the next one lie a block further
  int64_t line;         // floats from there to those of the first window on the second line
  const int64_t *taps;  // (n_taps) floats from a window's first elements to a block of channels at one tap
  int64_t n_taps;
  const float *w;         // (n_taps, block of x, two blocks of y)
  bool add;               // the sums to what y has
  const float *bias;      // (two blocks of y) else to this; NULL: to nothing
  float *y[2];            // window by window
  const float *next;      // what will be read after w: it is brought to the cache,
  int64_t next_distance;  // so many floats for each channel of each tap
} dp_conv_tile;

typedef void (*dp_vector_conv_tile)(const dp_conv_tile *tile);

typedef struct {
  // By the number of windows on a line.
  dp_vector_conv_tile on_line[DP_CONV_TILE_MOST + 1], on_two[DP_CONV_TILE_MOST / 2 + 1];
  // `count` blocks, from + i * step to to + i * DP_CONV_BLOCK.
  void (*copy)(int64_t count, const float *from, int64_t step, float *to);
} dp_vector_conv;

extern const dp_vector_conv dp_vector_conv_avx512;

#ifdef __cplusplus
}
#endif
#endif
