// TopK.
#ifndef DP_BACKENDS_CUDA_DEVICE_TOP_K_H
#define DP_BACKENDS_CUDA_DEVICE_TOP_K_H

enum { DP_TOP_K_THREADS = 256 };  // the most of a block, which has a power of two

// x (outer, length, inner); y, indices (outer, count, inner)
typedef struct {
  long long length, count, inner;
  const void *x;
  void *y;
  long long *indices;
} dp_top_k_arguments;

#endif
