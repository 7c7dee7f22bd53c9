// The alignment of values and scratch memory on GPUs.
#ifndef DP_BACKENDS_CUDA_KERNELS_ALIGNMENT_H
#define DP_BACKENDS_CUDA_KERNELS_ALIGNMENT_H

enum { DP_CUDA_ALIGNMENT = 256 };  // bytes: what cudaMalloc and libraries align to

#endif
