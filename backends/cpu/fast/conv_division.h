// How a convolution of images in blocks of 16 channels is divided: into tiles of windows, whose elements of x lie one
// after the other, and into parts.
//
// Where a convolution has strides or a padding, each part copies the lines of x that it needs. For each remainder of
// rows and of columns by the strides there is a phase, an image of its own, in which what lies beyond x is 0: products
// of these zeros count, so where a weight is infinite or NaN they are NaN.
//
// Parts share pairs of blocks of y's channels, or tiles where images are larger than weights.
#ifndef DP_BACKENDS_CPU_FAST_CONV_DIVISION_H
#define DP_BACKENDS_CPU_FAST_CONV_DIVISION_H

#include "backends/cpu/vector/conv_tile.h"
#include "ir/kernel/kernel.h"
#include "ir/ops/geometry.h"

typedef struct {
  int64_t first;           // its first window
  int64_t lines, windows;  // on each
} dp_conv_piece;

typedef struct {
  dp_geometry window;
  int64_t samples, x_channels, y_channels;
  int64_t x_blocks, pairs;  // the last pair may have one block
  int64_t n_taps;
  int64_t reach[2];       // rows and columns of a phase that are more than windows
  int64_t phases[2];      // of rows, of columns
  bool copied;            // x is, in phases
  int64_t rows, columns;  // of a phase, or of x
  int64_t n_tiles;
  int parts;
  bool by_tiles;
} dp_conv_division;

// Tiles or pairs of a part; lines of y that the tiles lie on.
typedef struct {
  int64_t tile, tile_end, pair, pair_end, line, line_end;
} dp_conv_part;

dp_status dp_conv_division_make(const dp_kernel_spec *spec, dp_conv_division *division);
dp_conv_piece dp_conv_division_tile(const dp_conv_division *division, int64_t tile);
dp_conv_part dp_conv_division_part(const dp_conv_division *division, int part);
// Floats from one block of channels to the next, as windows read x; of the weights of a pair.
int64_t dp_conv_division_plane(const dp_conv_division *division);
int64_t dp_conv_division_weights(const dp_conv_division *division);
// Floats of x as a part copies it; 0: it does not. whole: as one that computes all tiles does.
int64_t dp_conv_division_copy(const dp_conv_division *division, bool whole);
// Floats from a window's first elements in a phase to those of tap `tap`.
int64_t dp_conv_division_tap(const dp_conv_division *division, int64_t tap);
// Copies a part's lines of a sample x to dp_conv_division_copy floats.
void dp_conv_division_take(const dp_conv_division *division, const dp_conv_part *part, const float *x, float *to);

#endif
