// The arguments of boxes.cu: copies and sums of boxes of elements between tensors.
#ifndef DP_BACKENDS_CUDA_DEVICE_BOXES_H
#define DP_BACKENDS_CUDA_DEVICE_BOXES_H

enum {
  DP_CUDA_BOX_RANK = 8,
  DP_CUDA_BOX_LANES = 32,                                              // of a warp
  DP_CUDA_BOX_LOADS = 4,                                               // of a thread that are under way at once
  DP_CUDA_BOX_CHUNK = (int)DP_CUDA_BOX_LANES * (int)DP_CUDA_BOX_LOADS  // units that a warp moves at once, of one box
};

// A unit is so many neighbours on both sides as the function moves at once.
typedef struct {
  char *target;
  const char *source;  // the first one
  long long before;    // chunks of the boxes before it
  long long units;
  long long row;  // of the tables of distances
  int rank;       // at least 1
  // Extents are in units; strides are elements from one unit to the next.
  long long extents[DP_CUDA_BOX_RANK], target_strides[DP_CUDA_BOX_RANK], source_strides[DP_CUDA_BOX_RANK];
} dp_cuda_box;

typedef struct {
  const dp_cuda_box *boxes;  // in the GPU's memory, as the next
  const long long *apart;    // (rows, sources) bytes from a box's first source to each of them
  const long long *spread;   // (rows, targets) and from its first target
  long long chunks, count, sources, targets;
  long long adds;             // what the first target holds comes before the sources
  long long source_distance;  // bytes added to every source
} dp_cuda_boxes;

#endif
