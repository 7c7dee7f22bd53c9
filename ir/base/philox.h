// Philox4x32-10 and its use here: the one source of masks and initial values, the same under any sharding.
//
// Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. Element i (row-major, in the
// whole tensor) is lane i mod 4 of the block of index i / 4.
#ifndef DP_IR_BASE_PHILOX_H
#define DP_IR_BASE_PHILOX_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void dp_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t d0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, d2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
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

// The four words of elements 4 * block .. 4 * block + 3. name: dp_hash_name of the node or parameter.
static inline void dp_philox_block(uint64_t seed, uint32_t step, uint32_t name, uint64_t block, uint32_t out[4]) {
  const uint32_t counter[4] = {step, name, (uint32_t)block, (uint32_t)(block >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  dp_philox4x32_10(counter, key, out);
}

// The word of one element.
static inline uint32_t dp_philox_at(uint64_t seed, uint32_t step, uint32_t name, uint64_t index) {
  uint32_t out[4];
  dp_philox_block(seed, step, name, index / 4, out);
  return out[index % 4];
}

// In [0, 1), a multiple of 2^-24, exact in float32.
static inline double dp_philox_uniform(uint32_t word) { return (double)(word >> 8) * 0x1p-24; }

// Standard normal by the Box-Muller transform: an even lane and the odd lane after it are the cosine and the sine of
// one pair.
static inline double dp_philox_normal(const uint32_t block[4], int lane) {
  double radius = sqrt(-2 * log(1 - dp_philox_uniform(block[lane & 2])));
  double angle = 6.283185307179586476925 * dp_philox_uniform(block[(lane & 2) + 1]);
  return radius * (lane & 1 ? sin(angle) : cos(angle));
}

#ifdef __cplusplus
}
#endif
#endif
