// Orders and parts of a data set, each from a seed alone: who asks, or when, does not matter.
#ifndef DP_RUNTIME_DATA_ORDER_H
#define DP_RUNTIME_DATA_ORDER_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Philox's block for one place of an epoch; `name` says what for.
void dp_order_random(uint64_t seed, uint32_t epoch, uint32_t name, uint64_t at, uint32_t out[4]);

// Writes a permutation of [0, count) to `order`: Fisher-Yates.
void dp_order_permute(uint64_t seed, int64_t epoch, const char *name, int64_t count, int64_t *order);

typedef enum { DP_PART_ALL = 0, DP_PART_TRAINING, DP_PART_VALIDATION } dp_part;

// The number of samples in a part, of which the validation has `share`, rounded to nearest.
int64_t dp_part_count(dp_part part, double share, int64_t samples);
// Writes a part's samples, in file order. `order`: room for all `samples`.
void dp_part_choose(dp_part part, double share, uint64_t seed, int64_t samples, int64_t *order);

#ifdef __cplusplus
}
#endif
#endif
