// Copies elements between tensors that are walked differently.
#ifndef DP_BACKENDS_CUDA_DEVICE_STRIDED_H
#define DP_BACKENDS_CUDA_DEVICE_STRIDED_H

enum {
  DP_STRIDED_RANK = 16,  // the most dims
  DP_STRIDED_TILE = 32,  // rows and columns of a tile
};

// Strides are in elements. `from` and `to` are the first element's.
typedef struct {
  long long count, extents[DP_STRIDED_RANK], from_strides[DP_STRIDED_RANK], to_strides[DP_STRIDED_RANK];
  long long aligned;  // whether neighbours that are copied together can be moved at once, at both ends
  const void *from;
  void *to;
} dp_strided_arguments;

#endif
