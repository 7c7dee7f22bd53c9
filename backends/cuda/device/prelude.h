// What functions for the GPU are written with: a subset of CUDA C that a C compiler takes too. NVRTC compiles it for
// GPUs; tests compile the same text as C and run it, thread by thread.
//
// A function is a file of this folder: `DP_KERNEL(arguments) { ... }`, or DP_BLOCK_KERNEL where the threads of a block
// work together (dp_barrier, DP_SHARED, dp_block_sum). NAME is its name, which the program that embeds it defines, as
// it defines the types and expressions that the file is written over. Its argument is one struct `a`, defined in a
// header that the host includes too. Helpers are named LOCAL(name), since one program holds many functions. Loops over
// elements start at dp_index() and go on by dp_stride(), or leave when dp_index() is past the end.
#ifndef DP_BACKENDS_CUDA_DEVICE_PRELUDE_H
#define DP_BACKENDS_CUDA_DEVICE_PRELUDE_H

#define DP_CONCATENATE_(a, b) a##_##b
#define DP_CONCATENATE(a, b) DP_CONCATENATE_(a, b)
#define LOCAL(name) DP_CONCATENATE(NAME, name)

typedef long long dp_i64;
typedef unsigned long long dp_u64;
typedef unsigned dp_u32;

#ifdef __CUDACC__

#define DP_KERNEL(ARGUMENTS) extern "C" __global__ void NAME(const ARGUMENTS a)
#define DP_BLOCK_KERNEL(ARGUMENTS) DP_KERNEL(ARGUMENTS)
#define DP_DEVICE static __device__ __forceinline__
#define DP_SHARED __shared__
#define DP_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define DP_NAN __longlong_as_double(0x7ff8000000000000ll)
static __device__ __forceinline__ void dp_barrier(void) { __syncthreads(); }
static __device__ __forceinline__ int dp_thread(void) { return (int)threadIdx.x; }
static __device__ __forceinline__ int dp_threads(void) { return (int)blockDim.x; }
static __device__ __forceinline__ dp_i64 dp_block(void) { return (dp_i64)blockIdx.x; }
static __device__ __forceinline__ dp_i64 dp_blocks(void) { return (dp_i64)gridDim.x; }
// Stores `value` at `at` if it holds 0, in one step; returns what it held. The host sees it too.
static __device__ __forceinline__ dp_u64 dp_claim(dp_u64 *at, dp_u64 value) {
  return atomicCAS_system(at, 0ull, value);
}

#else

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
// What runs the functions supplies these, and calls NAME_entry for every thread.
int dp_thread(void), dp_threads(void);
dp_i64 dp_block(void), dp_blocks(void);
void dp_barrier(void);
#define DP_ENTRY(ARGUMENTS, TOGETHER)                                                              \
  static void NAME(const ARGUMENTS a);                                                             \
  void DP_CONCATENATE(NAME, entry)(const void *arguments);                                         \
  void DP_CONCATENATE(NAME, entry)(const void *arguments) { NAME(*(const ARGUMENTS *)arguments); } \
  extern const int DP_CONCATENATE(NAME, together);                                                 \
  const int DP_CONCATENATE(NAME, together) = TOGETHER;                                             \
  extern const unsigned DP_CONCATENATE(NAME, bytes);                                               \
  const unsigned DP_CONCATENATE(NAME, bytes) = sizeof(ARGUMENTS);                                  \
  static void NAME(const ARGUMENTS a)
#define DP_KERNEL(ARGUMENTS) DP_ENTRY(ARGUMENTS, 0)
#define DP_BLOCK_KERNEL(ARGUMENTS) DP_ENTRY(ARGUMENTS, 1)
#define DP_DEVICE static inline
#define DP_INFINITY ((double)INFINITY)
#define DP_NAN ((double)NAN)
#define DP_SHARED static _Thread_local
static inline dp_u64 dp_claim(dp_u64 *at, dp_u64 value) {
  dp_u64 held = 0;
  __atomic_compare_exchange_n(at, &held, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return held;
}

#endif

DP_DEVICE dp_i64 dp_index(void) { return dp_block() * dp_threads() + dp_thread(); }
DP_DEVICE dp_i64 dp_stride(void) { return dp_blocks() * dp_threads(); }

#endif
