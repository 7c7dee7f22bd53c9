// How a gradient of maxima is divided into the tiles of max_pool_grad_tiles.cu, by extents alone.
#ifndef DP_BACKENDS_CUDA_WINDOWS_POOL_TILES_H
#define DP_BACKENDS_CUDA_WINDOWS_POOL_TILES_H

#include "backends/base/window.h"

typedef struct {
  int64_t planes, rows, columns;  // of a tile; rows and columns of cells
  int64_t in_rows, in_columns;    // tiles of a plane
  int64_t blocks;
  bool by_cells;  // a thread computes a cell, not an element
} dp_pool_tiles;

// x and y have elements. False: windows have three dims, are dilated, or so many of them cover an element that a block
// cannot keep them.
bool dp_cuda_pool_tiles(const dp_window *w, int64_t planes, dp_pool_tiles *tiles);
// The constants of the function's text.
void dp_cuda_pool_tiles_write(const dp_window *w, const dp_pool_tiles *tiles, char *text, size_t room);

#endif
