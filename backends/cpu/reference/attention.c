// Rows of scores, and what dropout keeps of them. See attention.h.
#ifndef T
#include "backends/cpu/reference/attention.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_random dp_attention_random(const dp_call *call, const dp_attention *a, int seed) {
  dp_random random = {.local = &a->scores, .name = (uint32_t)dp_node_int(call->spec->node, "key", 0)};
  if (a->ratio > 0) {
    random.seed = (uint64_t)dp_scalar_i64(call->spec, call->in, seed);
    random.step = (uint32_t)dp_scalar_i64(call->spec, call->in, seed + 1);
  }
  return random;
}

void dp_attention_keep(const dp_attention *a, const dp_random *random, int64_t row, double *keep) {
  for (int64_t at = 0; at < a->keys; at += DP_RANDOM_CHUNK) {
    int count = (int)dp_min_i64(DP_RANDOM_CHUNK, a->keys - at);
    if (a->ratio > 0) dp_random_fill(random, row * a->keys + at, count, keep + at);
    for (int i = 0; i < count; i++)
      keep[at + i] = a->ratio == 0 ? 1 : keep[at + i] >= a->ratio ? 1 / (1 - a->ratio) : 0;
  }
}

#else

void FN(dp_attention_scores)(const dp_attention *a, const T *q, const T *k, const void *mask, int64_t seen, double *s) {
  for (int64_t j = 0; j < seen; j++, k += a->groups * a->size) {
    double sum = 0;
    for (int64_t c = 0; c < a->size; c++) sum += (double)q[c] * (double)k[c];
    s[j] = a->scale * sum;
    int64_t at = j * a->mask_stride[3];
    if (a->mask == DP_BOOL && !((const bool *)mask)[at]) s[j] = a->masked;
    if (a->mask && a->mask != DP_BOOL) s[j] += (double)((const T *)mask)[at];
  }
}
#undef T
#endif
