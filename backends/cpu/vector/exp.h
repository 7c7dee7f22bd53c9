// exp of many floats at once, in a form that compilers vectorize.
#ifndef DP_BACKENDS_CPU_VECTOR_EXP_H
#define DP_BACKENDS_CPU_VECTOR_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// exp(x), within 2 units in the last place (tests/backends/attention_test.cc); 0 below -87, where the result would be
// denormal; infinity above 88; NaN for NaN.
// The usual reduction to |r| <= log(2) / 2 and the polynomial of Moshier's Cephes library (expf).
static inline float dp_vector_exp(float x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float low = -87.0f, high = 88.0f;
  float y = x < low ? low : x > high ? high : x;
  float shifted = y * 1.44269504088896341f + magic, n = shifted - magic;
  float r = y - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1;
  uint32_t bits;  // of `shifted`: the lowest are n
  float scale;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  memcpy(&scale, &bits, sizeof scale);
  return x < low ? 0 : x > high ? INFINITY : p * scale;
}

#endif
