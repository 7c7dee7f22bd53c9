// What functions of pooling share with the host.
//
// Windows are constants of a function's text, so that no division and no loop is by a number that the compiler does not
// know. Lists of three numbers, one for each spatial dim: EXTENTS of x, WINDOWS (y's extents), KERNEL, STRIDE,
// DILATION, PAD, PAD_END. I: the type that holds an index in a plane, int where planes allow it. NEIGHBOURS: how many
// channels are neighbours in memory: 1 of plain tensors, all of them in NHWC. PADDING: 1 if padding counts in a mean.
#ifndef DP_BACKENDS_CUDA_DEVICE_POOL_H
#define DP_BACKENDS_CUDA_DEVICE_POOL_H

// Numbers of a shard's elements along a dim in the whole tensor, as dp_local_to_whole has them.
typedef struct {
  long long unit, mine, k, low;
} dp_pool_dim;

// x (N, C, ...), y (N, C, ...), or their gradients.
typedef struct {
  const void *x, *dy;
  void *result;             // y or dx, of `count` elements
  long long *indices;       // of MaxPool; NULL: nobody wants them
  long long count, planes;  // planes: N * C
  long long channels, whole_channels;
  dp_pool_dim dims[2];  // N and C, for indices
  long long by_columns;
} dp_pool_arguments;

// The most taps of windows that functions of vectors go through.
enum { DP_POOL_VECTOR_TAPS = 25 };
// max_pool_grad_tiles.cu: how many windows a block may keep, and what it takes of dx, unless a cell has more.
enum { DP_POOL_TILE_SLOTS = 2048, DP_POOL_TILE_ELEMENTS = 8192 };

#endif
