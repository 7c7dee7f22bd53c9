// Divides gradients into buckets; private to the pass `bucket`.
#ifndef DP_PASSES_SCHEDULE_BUCKET_SIZE_H
#define DP_PASSES_SCHEDULE_BUCKET_SIZE_H

#include "passes/cost/cost_model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  double ready_ns;  // when it is computed, by the computation's clock
  double bytes;     // on a device
} dp_bucket_member;

// Divides members, in the order in which they become ready, into buckets of at most `most` members and `most_bytes`
// bytes (unless a single member has more). Sets ends[b] to the member after bucket b's last; room for `count` of them.
// Returns the number of buckets.
int32_t dp_bucket_size(dp_arena *scratch, const dp_target_costs *costs, int32_t count, const dp_bucket_member *members,
                       int32_t most, double most_bytes, int32_t *ends);

#ifdef __cplusplus
}
#endif
#endif
