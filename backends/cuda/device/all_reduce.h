// The arguments of all_reduce.cu. All tables are in the GPU's memory.
#ifndef DP_BACKENDS_CUDA_DEVICE_ALL_REDUCE_H
#define DP_BACKENDS_CUDA_DEVICE_ALL_REDUCE_H

typedef struct {
  const void *const *from;  // (tensors, sources)
  void *const *to;          // (tensors, targets)
  const long long *before;  // (tensors + 1) elements before each tensor; then all
  long long tensors, sources, targets;
} dp_cuda_all_reduce;

#endif
