// The update of dp.Adam on rows of floats, compiled once for each instruction set.
#ifndef DP_BACKENDS_CPU_VECTOR_ADAM_H
#define DP_BACKENDS_CPU_VECTOR_ADAM_H

#include <stdint.h>

#include "backends/cpu/reference/adam_rule.h"

#ifdef __cplusplus
extern "C" {
#endif

// Updates `count` parameters; results lie on their operands or apart from all. In float64, rounded once: the bits are
// those of the reference kernel.
typedef void (*dp_vector_adam)(const dp_adam_rule *rule, int64_t count, const float *w, const float *m, const float *v,
                               const float *g, float *next_w, float *next_m, float *next_v);

void dp_vector_adam_avx2(const dp_adam_rule *rule, int64_t count, const float *w, const float *m, const float *v,
                         const float *g, float *next_w, float *next_m, float *next_v);
void dp_vector_adam_avx512(const dp_adam_rule *rule, int64_t count, const float *w, const float *m, const float *v,
                           const float *g, float *next_w, float *next_m, float *next_v);

#ifdef __cplusplus
}
#endif
#endif
