// What attention does to single rows of a tile of scores, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_ATTENTION_ROWS_H
#define DP_BACKENDS_CPU_VECTOR_ATTENTION_ROWS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The random numbers of ir/base/philox.h. An element is kept if the upper 24 bits of its word are `least` or more.
typedef struct {
  uint64_t seed;
  uint32_t step, name;
  int32_t least;
  float kept;
} dp_attention_dropout;

typedef struct {
  // Makes scores exp(score - maximum), where *most is the row's maximum and *sum its sum so far (-infinity, 0 at
  // first); updates both. Returns the factor by which what came before shrinks.
  float (*soften)(float *s, int64_t count, float *most, float *sum);
  // From scores and dP: P times keep in place of the scores, and P (keep dP - through), where P = exp(score - log_sum),
  // in place of dP. keep: NULL for 1.
  void (*differentiate)(float *s, float *dp, const float *keep, int64_t count, float log_sum, float through);
  // x[i] = exp(x[i])
  void (*exp)(float *x, int64_t count);
  // What dropout multiplies the elements first .. first + count - 1 by: factors[i] is 0, or `kept`.
  void (*keep)(const dp_attention_dropout *dropout, uint64_t first, int64_t count, float *factors);
} dp_attention_rows;

extern const dp_attention_rows dp_attention_rows_avx2, dp_attention_rows_avx512;

#ifdef __cplusplus
}
#endif
#endif
