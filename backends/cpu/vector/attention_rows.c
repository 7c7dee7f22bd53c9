// Rows of a tile of scores. See attention_rows.h. DP_ISA: the instruction set that it is compiled for, as the build
// says; the loops are plain, and the compiler makes vectors of them.
#include "backends/cpu/vector/attention_rows.h"

#include "backends/cpu/vector/exp.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

// Maxima and sums are taken in lanes, since compilers may not reorder them.
enum { LANES = 16 };

static float largest(const float *s, int64_t count, float most) {
  float lanes[LANES];
  int64_t j = 0;
  for (int i = 0; i < LANES; i++) lanes[i] = most;
  for (; j + LANES <= count; j += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] = s[j + i] > lanes[i] ? s[j + i] : lanes[i];
  for (; j < count; j++) most = s[j] > most ? s[j] : most;
  for (int i = 0; i < LANES; i++) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

static float sum_of(const float *s, int64_t count) {
  float lanes[LANES] = {0}, sum = 0;
  int64_t j = 0;
  for (; j + LANES <= count; j += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] += s[j + i];
  for (; j < count; j++) sum += s[j];
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

static float soften(float *s, int64_t count, float *most, float *sum) {
  const float now = largest(s, count, *most);
  if (now == -INFINITY) {  // nothing to see yet; NaN stays
    for (int64_t j = 0; j < count; j++) s[j] = s[j] == -INFINITY ? 0 : s[j];
    *sum += sum_of(s, count);
    return 1;
  }
  for (int64_t j = 0; j < count; j++) s[j] = dp_vector_exp(s[j] - now);
  const float factor = dp_vector_exp(*most - now);
  *most = now;
  *sum = *sum * factor + sum_of(s, count);
  return factor;
}

static void differentiate(float *restrict s, float *restrict dp, const float *restrict keep, int64_t count,
                          float log_sum, float through) {
  for (int64_t j = 0; j < count; j++) s[j] = dp_vector_exp(s[j] - log_sum);
  if (keep)
    for (int64_t j = 0; j < count; j++) {
      dp[j] = s[j] * (keep[j] * dp[j] - through);
      s[j] *= keep[j];
    }
  else
    for (int64_t j = 0; j < count; j++) dp[j] = s[j] * (dp[j] - through);
}

static void exp_of(float *x, int64_t count) {
  for (int64_t j = 0; j < count; j++) x[j] = dp_vector_exp(x[j]);
}

const dp_attention_rows PASTE(dp_attention_rows_, DP_ISA) = {soften, differentiate, exp_of};
