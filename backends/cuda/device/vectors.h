// Several elements that a thread reads or writes at once: a struct of the alignment that one instruction needs.
#ifndef DP_BACKENDS_CUDA_DEVICE_VECTORS_H
#define DP_BACKENDS_CUDA_DEVICE_VECTORS_H

enum { DP_VECTOR_BYTES = 16 };  // that one instruction moves

#ifdef __CUDACC__
#define DP_ALIGNED(bytes) __align__(bytes)
#define DP_UNROLL _Pragma("unroll")
#else
#define DP_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define DP_UNROLL
#endif

#endif
