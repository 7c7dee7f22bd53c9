// What functions for the GPU are written with: a subset of CUDA C that a C compiler takes too. NVRTC compiles it for
// GPUs; tests compile the same text as C and run it, thread by thread.
//
// A function is a file of this folder: `DP_KERNEL(arguments) { ... }`, or DP_BLOCK_KERNEL where the threads of a block
// work together (dp_barrier, DP_SHARED, dp_warp_sum, dp_block_sum). DP_BOUNDED_KERNEL is such a function that takes so
// few registers that a multiprocessor has room for BLOCKS blocks of THREADS threads. NAME is its name, which the
// program that embeds it defines, as it defines the types and expressions that the file is written over. Its argument
// is one struct `a`, defined in a header that the host includes too. Helpers are named LOCAL(name), since one program
// holds many functions. Loops over elements start at dp_index() and go on by dp_stride(), or leave when dp_index() is
// past the end.
//
// Elements of type T are in memory and are computed with in type W: GET(element) reads one, PUT(number) rounds to one.
// Both types are the same but for floats of 16 bits, which are computed with in float. They are structs, so that no
// compiler takes them for numbers.
#ifndef DP_BACKENDS_CUDA_DEVICE_PRELUDE_H
#define DP_BACKENDS_CUDA_DEVICE_PRELUDE_H

#define DP_CONCATENATE_(a, b) a##_##b
#define DP_CONCATENATE(a, b) DP_CONCATENATE_(a, b)
#define LOCAL(name) DP_CONCATENATE(NAME, name)

typedef long long dp_i64;
typedef unsigned long long dp_u64;
typedef unsigned dp_u32;

enum { DP_WARP = 32, DP_LINE_BYTES = 128 };  // threads that a GPU runs as one; what a cache fetches at once

#ifdef __CUDACC__

#define DP_KERNEL(ARGUMENTS) extern "C" __global__ void NAME(const ARGUMENTS a)
#define DP_BLOCK_KERNEL(ARGUMENTS) DP_KERNEL(ARGUMENTS)
#define DP_BOUNDED_KERNEL(ARGUMENTS, THREADS, BLOCKS) \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const ARGUMENTS a)
#define DP_DEVICE static __device__ __forceinline__
#define DP_SHARED __shared__
#define DP_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define DP_NAN __longlong_as_double(0x7ff8000000000000ll)
static __device__ __forceinline__ float dp_float_of(dp_u32 bits) { return __uint_as_float(bits); }
static __device__ __forceinline__ dp_u32 dp_bits_of(float x) { return __float_as_uint(x); }
// 1 / sqrt(x), for which GPUs need no division.
static __device__ __forceinline__ double dp_inverse_root(double x) { return rsqrt(x); }
static __device__ __forceinline__ void dp_barrier(void) { __syncthreads(); }
static __device__ __forceinline__ int dp_thread(void) { return (int)threadIdx.x; }
static __device__ __forceinline__ int dp_threads(void) { return (int)blockDim.x; }
static __device__ __forceinline__ dp_i64 dp_block(void) { return (dp_i64)blockIdx.x; }
static __device__ __forceinline__ dp_i64 dp_blocks(void) { return (dp_i64)gridDim.x; }
// Lets the second-level cache fetch the line of memory that `at` is in.
static __device__ __forceinline__ void dp_prefetch(const void *at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
// Stores `value` at `at` if it holds 0, in one step; returns what it held. The host sees it too.
static __device__ __forceinline__ dp_u64 dp_claim(dp_u64 *at, dp_u64 value) {
  return atomicCAS_system(at, 0ull, value);
}

#else

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
// What runs the functions supplies these, and calls NAME_entry for every thread; a block has NAME_bound at most. line:
// of the text, so that it sees whether threads come to the same place.
int dp_thread(void), dp_threads(void);
dp_i64 dp_block(void), dp_blocks(void);
void dp_barrier_at(int line);
#define dp_barrier() dp_barrier_at(__LINE__)
// Sets all[i] to the value of the warp's thread i, when all of its threads have come here. all: (DP_WARP)
void dp_warp_share(double value, double *all, int line);
#define DP_ENTRY(ARGUMENTS, TOGETHER, MOST)                                                        \
  static void NAME(const ARGUMENTS a);                                                             \
  void DP_CONCATENATE(NAME, entry)(const void *arguments);                                         \
  void DP_CONCATENATE(NAME, entry)(const void *arguments) { NAME(*(const ARGUMENTS *)arguments); } \
  extern const int DP_CONCATENATE(NAME, together);                                                 \
  const int DP_CONCATENATE(NAME, together) = TOGETHER;                                             \
  extern const unsigned DP_CONCATENATE(NAME, bytes);                                               \
  const unsigned DP_CONCATENATE(NAME, bytes) = sizeof(ARGUMENTS);                                  \
  extern const int DP_CONCATENATE(NAME, bound);                                                    \
  const int DP_CONCATENATE(NAME, bound) = MOST;                                                    \
  static void NAME(const ARGUMENTS a)
#define DP_KERNEL(ARGUMENTS) DP_ENTRY(ARGUMENTS, 0, 1024)
#define DP_BLOCK_KERNEL(ARGUMENTS) DP_ENTRY(ARGUMENTS, 1, 1024)
#define DP_BOUNDED_KERNEL(ARGUMENTS, THREADS, BLOCKS) DP_ENTRY(ARGUMENTS, 1, THREADS)
#define DP_DEVICE static inline
#define DP_INFINITY ((double)INFINITY)
#define DP_NAN ((double)NAN)
typedef union {
  float number;
  dp_u32 bits;
} dp_float_bits;
static inline float dp_float_of(dp_u32 bits) {
  const dp_float_bits x = {.bits = bits};
  return x.number;
}
static inline double dp_inverse_root(double x) { return 1 / sqrt(x); }
static inline dp_u32 dp_bits_of(float x) {
  const dp_float_bits held = {.number = x};
  return held.bits;
}
#define DP_SHARED static _Thread_local
static inline void dp_prefetch(const void *at) { (void)at; }
static inline dp_u64 dp_claim(dp_u64 *at, dp_u64 value) {
  dp_u64 held = 0;
  __atomic_compare_exchange_n(at, &held, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return held;
}

#endif

DP_DEVICE dp_i64 dp_index(void) { return dp_block() * dp_threads() + dp_thread(); }
DP_DEVICE dp_i64 dp_stride(void) { return dp_blocks() * dp_threads(); }

// ---- warps ----------------------------------------------------------------------------------------------------------

// What the threads of a warp compute together, without a barrier and without shared memory. All threads of a warp call
// these, and all get the result. Pairs of threads that are 16 apart join theirs, then 8 and so on, so that the order
// depends on nothing.
//
// Both texts join the same pairs. As JOIN is commutative, all threads of the first have what the second has in all[0].
#ifdef __CUDACC__
#define DP_WARP_TREE(TYPE, NAME_OF, JOIN)                              \
  DP_DEVICE TYPE NAME_OF(TYPE value) {                                 \
    for (int apart = DP_WARP / 2; apart > 0; apart /= 2)               \
      value = JOIN(value, __shfl_xor_sync(0xffffffffu, value, apart)); \
    return value;                                                      \
  }
#else
#define DP_WARP_TREE(TYPE, NAME_OF, JOIN)                                    \
  DP_DEVICE TYPE NAME_OF(TYPE value) {                                       \
    double all[DP_WARP];                                                     \
    dp_warp_share(value, all, __LINE__);                                     \
    for (int apart = DP_WARP / 2; apart > 0; apart /= 2)                     \
      for (int i = 0; i < apart; i++) all[i] = JOIN(all[i], all[i + apart]); \
    return (TYPE)all[0];                                                     \
  }
#endif

// The value of the warp's first thread.
#ifdef __CUDACC__
#define DP_WARP_FIRST(TYPE, NAME_OF) \
  DP_DEVICE TYPE NAME_OF(TYPE value) { return __shfl_sync(0xffffffffu, value, 0); }
#else
#define DP_WARP_FIRST(TYPE, NAME_OF)     \
  DP_DEVICE TYPE NAME_OF(TYPE value) {   \
    double all[DP_WARP];                 \
    dp_warp_share(value, all, __LINE__); \
    return (TYPE)all[0];                 \
  }
#endif

#define DP_PLUS(x, y) ((x) + (y))

DP_WARP_TREE(double, dp_warp_sum, DP_PLUS)
// The largest; NaN is less than anything.
DP_WARP_TREE(double, dp_warp_max, fmax)
DP_WARP_TREE(float, dp_warp_max_float, fmaxf)

// ---- floats of 16 bits ----------------------------------------------------------------------------------------------

typedef struct {
  unsigned short bits;
} dp_float16;
typedef struct {
  unsigned short bits;
} dp_bfloat16;

// Numbers are rounded to nearest even, and to infinity beyond the largest; every NaN becomes the same. GPUs have
// instructions for it, from sm_80 on; C has integers.
#ifdef __CUDACC__

// The instruction for two numbers: of the one for a single bfloat16, sm_90 has a fourth of the throughput.
DP_DEVICE dp_u32 dp_float16_bits(float x) {
  dp_u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(0.0f), "f"(x));
  return y;
}
DP_DEVICE dp_u32 dp_bfloat16_bits(float x) {
  dp_u32 y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(0.0f), "f"(x));
  return y;
}

DP_DEVICE float dp_float16_get(dp_float16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
DP_DEVICE dp_float16 dp_float16_put(float x) {
  const dp_float16 y = {(unsigned short)(x != x ? 0x7e00 : dp_float16_bits(x))};
  return y;
}
DP_DEVICE dp_bfloat16 dp_bfloat16_put(float x) {
  const dp_bfloat16 y = {(unsigned short)(x != x ? 0x7fc0 : dp_bfloat16_bits(x))};
  return y;
}

#else

// A float16 has 5 bits of exponent and 10 of fraction. 2^112 is the quotient of both types' units in the last place.
DP_DEVICE float dp_float16_get(dp_float16 x) {
  const dp_u32 sign = (dp_u32)(x.bits & 0x8000) << 16, magnitude = x.bits & 0x7fff;
  const dp_u32 infinite = magnitude >= 0x7c00 ? 0x7f800000u : 0;
  return dp_float_of(sign | infinite | dp_bits_of(dp_float_of(magnitude << 13) * 0x1p112f));
}
DP_DEVICE dp_float16 dp_float16_put(float x) {
  const dp_u32 sign = dp_bits_of(x) >> 16 & 0x8000, magnitude = dp_bits_of(x) & 0x7fffffff;
  dp_u32 bits;
  if (magnitude > 0x7f800000)
    return (dp_float16){0x7e00};
  else if (magnitude >= 0x47800000)  // 2^16
    bits = 0x7c00;
  else if (magnitude < 0x38800000)  // below 2^-14 float16's units are those of float32 at 1/2, where this rounds
    bits = dp_bits_of(dp_float_of(magnitude) + 0.5f) - dp_bits_of(0.5f);
  else
    bits = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  return (dp_float16){(unsigned short)(sign | bits)};
}
DP_DEVICE dp_bfloat16 dp_bfloat16_put(float x) {
  const dp_u32 bits = dp_bits_of(x);
  if (x != x) return (dp_bfloat16){0x7fc0};
  return (dp_bfloat16){(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#endif

DP_DEVICE float dp_bfloat16_get(dp_bfloat16 x) { return dp_float_of((dp_u32)x.bits << 16); }

// Rounded as if it had been in memory; a NaN may be any.
#ifdef __CUDACC__
DP_DEVICE float dp_float16_round(float x) {
  const dp_float16 y = {(unsigned short)dp_float16_bits(x)};
  return dp_float16_get(y);
}
DP_DEVICE float dp_bfloat16_round(float x) { return dp_float_of(dp_bfloat16_bits(x) << 16); }
#else
DP_DEVICE float dp_float16_round(float x) { return dp_float16_get(dp_float16_put(x)); }
DP_DEVICE float dp_bfloat16_round(float x) { return dp_bfloat16_get(dp_bfloat16_put(x)); }
#endif

// The float that rounds to narrower types as x does: x if it is one, else of the two around it the one with an odd last
// bit. Boldo, Melquiond: "When double rounding is odd", 2005.
DP_DEVICE float dp_round_to_odd(double x) {
  const float y = (float)x;
  if (x != x || (double)y == x) return y;
  return dp_float_of((dp_bits_of(y) - (fabs((double)y) > fabs(x) ? 1u : 0u)) | 1u);
}
DP_DEVICE float dp_unsigned_to_odd(dp_u64 x) {
  // What a double has no room for leaves a trace in its last bit.
  return dp_round_to_odd((double)(x >> 53 ? (x >> 11 | ((x & 0x7ff) != 0)) << 11 : x));
}
DP_DEVICE float dp_signed_to_odd(dp_i64 x) {
  return x < 0 ? -dp_unsigned_to_odd((dp_u64)0 - (dp_u64)x) : dp_unsigned_to_odd((dp_u64)x);
}

#endif
