// The arguments of boxes.cu: copies of boxes of elements between tensors.
#ifndef DP_BACKENDS_CUDA_DEVICE_BOXES_H
#define DP_BACKENDS_CUDA_DEVICE_BOXES_H

enum { DP_CUDA_BOX_RANK = 8 };

typedef struct {
  char *target;
  const char *source;
  long long before;  // elements of the boxes before it
  int rank;          // 0: one element
  long long extents[DP_CUDA_BOX_RANK], target_strides[DP_CUDA_BOX_RANK], source_strides[DP_CUDA_BOX_RANK];  // elements
} dp_cuda_box;

typedef struct {
  const dp_cuda_box *boxes;  // in the GPU's memory
  long long count, elements;
  long long source_distance;  // bytes added to every source
} dp_cuda_boxes;

#endif
