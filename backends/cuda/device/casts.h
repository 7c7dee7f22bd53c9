// Casts of many tensors by one launch.
#ifndef DP_BACKENDS_CUDA_DEVICE_CASTS_H
#define DP_BACKENDS_CUDA_DEVICE_CASTS_H

// Elements that a thread takes at once, and in all; threads of a block.
enum { DP_CASTS_AT_ONCE = 8, DP_CASTS_EACH = 32, DP_CASTS_THREADS = 256 };

typedef struct {
  long long count, first_block;
  const void *from;
  void *to;
} dp_casts_tensor;

typedef struct {
  long long n_tensors;
  const dp_casts_tensor *tensors;  // (n_tensors), in the GPU's memory
} dp_casts_arguments;

#endif
