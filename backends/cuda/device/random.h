// The random numbers of ir/base/philox.h for a shard's elements, on the device.
#ifndef DP_BACKENDS_CUDA_DEVICE_RANDOM_H
#define DP_BACKENDS_CUDA_DEVICE_RANDOM_H

#include "backends/cuda/device/place.h"
#include "backends/cuda/device/prelude.h"

// Of whatever draws: the place of its elements, the node's key, seed and step in memory (step NULL: 0).
typedef struct {
  dp_place place;
  const long long *seed, *step;
  unsigned key;
} dp_draw;

typedef struct {
  long long count;
  long long aligned;  // whether x and y can be moved by vectors of DP_RANDOM_EACH
  dp_draw draw;
  double shift, scale;  // of random values
  double kept;          // of dropout: the factor of what is not dropped
  unsigned least;       // and the least of 24 bits for which that is so
  const void *x;
  void *y;
} dp_random_arguments;

enum { DP_RANDOM_EACH = 4 };  // elements of a thread: those of one block of four words, where nothing is split

// Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
DP_DEVICE void dp_draw_block(const dp_draw *draw, dp_u64 block, dp_u32 out[4]) {
  const dp_u64 seed = (dp_u64)*draw->seed;
  dp_u32 c0 = draw->step ? (dp_u32)*draw->step : 0, c1 = draw->key, c2 = (dp_u32)block, c3 = (dp_u32)(block >> 32);
  dp_u32 k0 = (dp_u32)seed, k1 = (dp_u32)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const dp_u64 p0 = (dp_u64)0xD2511F53u * c0, p1 = (dp_u64)0xCD9E8D57u * c2;
    const dp_u32 d0 = (dp_u32)(p1 >> 32) ^ c1 ^ k0, d2 = (dp_u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (dp_u32)p1;
    c3 = (dp_u32)p0;
    c0 = d0;
    c2 = d2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

// In [0, 1), a multiple of 2^-24.
DP_DEVICE double dp_draw_uniform(dp_u32 word) { return (double)(word >> 8) * 5.9604644775390625e-8; }

// Standard normal: an even lane and the odd lane after it are the cosine and the sine of one pair.
DP_DEVICE double dp_draw_normal(const dp_u32 block[4], int lane) {
  const double radius = sqrt(-2 * log(1 - dp_draw_uniform(block[lane & 2])));
  const double angle = 6.283185307179586476925 * dp_draw_uniform(block[(lane & 2) + 1]);
  return radius * (lane & 1 ? sin(angle) : cos(angle));
}

// a * b + c, rounded after each step as on the CPU.
#ifdef __CUDACC__
DP_DEVICE double dp_times_plus(double a, double b, double c) { return __dadd_rn(__dmul_rn(a, b), c); }
#else
DP_DEVICE double dp_times_plus(double a, double b, double c) { return a * b + c; }
#endif

#endif
