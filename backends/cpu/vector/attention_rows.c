// Rows of a tile of scores. See attention_rows.h. DP_ISA: the instruction set that it is compiled for, as the build
// says; the loops are plain, and the compiler makes vectors of them.
#include "backends/cpu/vector/attention_rows.h"

#include "backends/cpu/vector/exp.h"
#include "backends/cpu/vector/isa.h"

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

// Blocks of random words that are computed side by side.
enum { BLOCKS = 32, WORDS = 4 * BLOCKS };

// dp_philox_block of BLOCKS blocks, round by round, so that each round is a loop over them.
static void fill_words(const dp_attention_dropout *d, uint64_t block, uint32_t words[WORDS]) {
  uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS], k0 = (uint32_t)d->seed, k1 = (uint32_t)(d->seed >> 32);
  for (int i = 0; i < BLOCKS; i++) {
    c0[i] = d->step;
    c1[i] = d->name;
    c2[i] = (uint32_t)(block + (uint64_t)i);
    c3[i] = (uint32_t)((block + (uint64_t)i) >> 32);
  }
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < BLOCKS; i++) {
      const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
      c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = (uint32_t)p1;
      c3[i] = (uint32_t)p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < BLOCKS; i++) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

static void keep(const dp_attention_dropout *d, uint64_t first, int64_t count, float *factors) {
  const int32_t least = d->least;
  const float kept = d->kept;
  for (int64_t at = 0; at < count;) {
    uint32_t words[WORDS];
    const uint64_t index = first + (uint64_t)at;
    const int64_t skipped = (int64_t)(index % 4), left = count - at;
    const int64_t n = left < WORDS - skipped ? left : WORDS - skipped;
    fill_words(d, index / 4, words);
    for (int64_t i = 0; i < n; i++) factors[at + i] = (int32_t)(words[skipped + i] >> 8) >= least ? kept : 0;
    at += n;
  }
}

const dp_attention_rows DP_FOR_ISA(dp_attention_rows_) = {soften, differentiate, exp_of, keep};
