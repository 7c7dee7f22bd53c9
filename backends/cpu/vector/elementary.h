// Elementary functions of floats, in a form that compilers vectorize: no branches, no calls. Every operation is rounded
// as written, multiply-adds once, so the bits are the same on every instruction set, in vectors and in what remains.
// Errors are in units in the last place, against libm in float64 (tests/backends/vector_test.cc).
#ifndef DP_BACKENDS_CPU_VECTOR_ELEMENTARY_H
#define DP_BACKENDS_CPU_VECTOR_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float dp_vector_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t dp_vector_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// exp(x) for all x, within 1.5 units; results that are denormal, within 2 of the smallest number. NaN for NaN.
// Unlike dp_vector_exp it reaches both ends of the range: the scale is applied in two halves.
// |r| <= log(2) / 2; the polynomial is that of Moshier's Cephes library (expf).
static inline float dp_vector_exp_whole(float x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float y = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float shifted = fmaf(y, 1.44269504088896341f, magic), n = shifted - magic;
  const float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, y));
  float p = 1.9875691500e-4f;
  p = fmaf(p, r, 1.3981999507e-3f);
  p = fmaf(p, r, 8.3334519073e-3f);
  p = fmaf(p, r, 4.1665795894e-2f);
  p = fmaf(p, r, 1.6666665459e-1f);
  p = fmaf(p, r, 5.0000001201e-1f);
  p = fmaf(p, r * r, r) + 1;
  const int32_t whole = (int32_t)(dp_vector_bits(shifted) - 0x4b400000u), half = whole >> 1;  // 0x4b400000: `magic`
  return p * dp_vector_of_bits((uint32_t)(half + 127) << 23) * dp_vector_of_bits((uint32_t)(whole - half + 127) << 23);
}

// log(x) within 1.5 units; -infinity for 0, NaN below. The polynomial is Cephes's (logf), on [sqrt(1/2), sqrt(2)).
static inline float dp_vector_log(float x) {
  const int small = x < 1.17549435e-38f;  // denormal: scaled by 2^23
  const uint32_t bits = dp_vector_bits(small ? x * 8388608.0f : x);
  const int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;  // 0x3f3504f3: sqrt(1/2)
  const float m = dp_vector_of_bits(bits - ((uint32_t)exponent << 23)) - 1;
  const float e = (float)(exponent - (small ? 23 : 0)), z = m * m;
  float p = 7.0376836292e-2f;
  p = fmaf(p, m, -1.1514610310e-1f);
  p = fmaf(p, m, 1.1676998740e-1f);
  p = fmaf(p, m, -1.2420140846e-1f);
  p = fmaf(p, m, 1.4249322787e-1f);
  p = fmaf(p, m, -1.6668057665e-1f);
  p = fmaf(p, m, 2.0000714765e-1f);
  p = fmaf(p, m, -2.4999993993e-1f);
  p = fmaf(p, m, 3.3333331174e-1f);
  const float tail = fmaf(e, -2.12194440e-4f, fmaf(-0.5f, z, p * m * z));
  const float y = fmaf(e, 0.693359375f, m + tail);
  return x > 0 ? (x == INFINITY ? x : y) : x == 0 ? -INFINITY : NAN;
}

// tanh(x) within 2 units. Cephes's polynomial (tanhf) near 0, beyond it 1 - 2 / (exp(2 |x|) + 1).
static inline float dp_vector_tanh(float x) {
  const float a = fabsf(x), s = x * x;
  const float far = 1 - 2 / (dp_vector_exp_whole(a + a) + 1);
  float p = -5.70498872745e-3f;
  p = fmaf(p, s, 2.06390887954e-2f);
  p = fmaf(p, s, -5.37397155531e-2f);
  p = fmaf(p, s, 1.33314422036e-1f);
  p = fmaf(p, s, -3.33332819422e-1f);
  return copysignf(a < 0.625f ? fmaf(p * s, x, x) : far, x);
}

// erf(x) within 2 units. Two minimax polynomials: x + x p(x^2) near 0, beyond it 1 - exp(q(|x|)).
static inline float dp_vector_erf(float x) {
  const float a = fabsf(x), s = x * x;
  float q = fmaf(-1.72853470e-5f, a, 3.83197126e-4f);
  q = fmaf(q, s, fmaf(-3.88396438e-3f, a, 2.42546219e-2f));
  q = fmaf(q, a, -1.06777877e-1f);
  q = fmaf(q, a, -6.34846687e-1f);
  q = fmaf(q, a, -1.28717512e-1f);
  const float far = 1 - dp_vector_exp_whole(fmaf(q, a, -a));
  float p = -5.96761703e-4f;
  p = fmaf(p, s, 4.99119423e-3f);
  p = fmaf(p, s, -2.67681349e-2f);
  p = fmaf(p, s, 1.12819925e-1f);
  p = fmaf(p, s, -3.76125336e-1f);
  p = fmaf(p, s, 1.28379166e-1f);
  return a > 0.921875f ? (a > 4 ? copysignf(1, x) : copysignf(far, x)) : fmaf(p, x, x);
}

// sin(x + quarters * pi / 2) for |x| <= DP_VECTOR_TURNED, within 1.5 units: quarters = 1 gives cos(x). Multiples of
// pi / 2, as a sum of two doubles, are taken off in float64, so that zeros of the result are exact too. The polynomials
// are Cephes's (sinf, cosf), for |r| <= pi / 4.
#define DP_VECTOR_TURNED 1048576.0f
static inline float dp_vector_sin_turned(float x, int32_t quarters) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double n = fma((double)x, 0x1.45f306dc9c883p-1, magic) - magic;
  const float r = (float)fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p0, (double)x)), s = r * r;
  const int32_t quarter = (int32_t)n + quarters;
  float p = -1.9515295891e-4f;
  p = fmaf(p, s, 8.3321608736e-3f);
  p = fmaf(p, s, -1.6666654611e-1f);
  float q = 2.443315711809948e-5f;
  q = fmaf(q, s, -1.388731625493765e-3f);
  q = fmaf(q, s, 4.166664568298827e-2f);
  const float sine = fmaf(p * s, r, r), cosine = fmaf(q * s, s, fmaf(-0.5f, s, 1));
  const float y = quarter & 1 ? cosine : sine;
  return quarter & 2 ? -y : y;
}

// 1 / (1 + exp(-x)) within 2.5 units, where the result is not denormal.
static inline float dp_vector_sigmoid(float x) { return 1 / (1 + dp_vector_exp_whole(-x)); }

#endif
