// The update of dp.Adam on rows of floats. See adam.h.
#include "backends/cpu/vector/adam.h"

#include <math.h>

#include "backends/cpu/vector/isa.h"

// Floats that are updated at a time, and how far ahead operands are fetched, also beyond their ends, which is harmless.
// Without it a load waits for stores before it whose addresses have the same last twelve bits (Intel), and so for
// memory: twice the time where the operands lie so.
enum { BLOCK = 64, AHEAD = 512, LINE = 16 };

static inline void update(const dp_adam_rule *rule, int64_t count, const float *w, const float *m, const float *v,
                          const float *g, float *next_w, float *next_m, float *next_v) {
  const dp_adam_rule r = *rule;
  DP_INDEPENDENT
  for (int64_t i = 0; i < count; i++) {
    const double d = (double)(float)((double)g[i] * r.gradient) + r.decay * (double)w[i];
    const double mean = (double)m[i] + (1 - r.beta1) * (d - (double)m[i]);
    const double square = r.beta2 * (double)v[i] + (1 - r.beta2) * d * d;
    next_w[i] = (float)(r.keep * (double)w[i] - r.rate * mean / (sqrt(square) * r.scale + r.eps));
    next_m[i] = (float)mean;
    next_v[i] = (float)square;
  }
}

static inline void fetch(const float *from) {
  for (int i = 0; i < BLOCK; i += LINE) __builtin_prefetch(from + i);
}

void DP_FOR_ISA(dp_vector_adam_)(const dp_adam_rule *rule, int64_t count, const float *w, const float *m,
                                 const float *v, const float *g, float *next_w, float *next_m, float *next_v) {
  int64_t i = 0;
  for (; i + BLOCK <= count; i += BLOCK) {
    fetch(w + i + AHEAD);
    fetch(m + i + AHEAD);
    fetch(v + i + AHEAD);
    fetch(g + i + AHEAD);
    update(rule, BLOCK, w + i, m + i, v + i, g + i, next_w + i, next_m + i, next_v + i);
  }
  update(rule, count - i, w + i, m + i, v + i, g + i, next_w + i, next_m + i, next_v + i);
}
