// How a gradient of maxima is divided into the tiles of max_pool_grad_tiles.cu or, in NHWC, of max_pool_grad_rows.cu,
// by extents alone.
#ifndef DP_BACKENDS_CUDA_WINDOWS_POOL_TILES_H
#define DP_BACKENDS_CUDA_WINDOWS_POOL_TILES_H

#include "backends/base/window.h"

typedef struct {
  int64_t planes, rows, columns;  // of a tile; rows and columns of cells
  int64_t vectors;                // in NHWC: of channels, instead of planes
  int64_t in_rows, in_columns;    // tiles of a plane
  int64_t blocks;
  bool by_cells;  // a thread computes a cell, not an element
} dp_pool_tiles;

// x and y have elements. False: windows have three dims, are dilated, or so many of them cover an element that a block
// cannot keep them.
bool dp_cuda_pool_tiles(const dp_window *w, int64_t planes, dp_pool_tiles *tiles);
// The same in NHWC, for pixels of so many vectors. False also where a tap's number is no byte, or cells are large.
bool dp_cuda_pool_tiles_nhwc(const dp_window *w, int64_t samples, int64_t vectors, dp_pool_tiles *tiles);
// Whether windows have two dims and are not dilated.
bool dp_cuda_pool_is_flat(const dp_window *w);
// The constants of the function's text.
void dp_cuda_pool_tiles_write(const dp_window *w, const dp_pool_tiles *tiles, char *text, size_t room);

#endif
