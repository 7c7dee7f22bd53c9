// Masks of attention that hide from each query exactly the keys that come after it, known while compiling.
#ifndef DP_PASSES_FUSE_CAUSAL_H
#define DP_PASSES_FUSE_CAUSAL_H

#include "ir/kernel/kernel.h"

// What was found out about the last mask; the layers of a network have equal ones. All 0 but the target at first. The
// value must live as long as this.
typedef struct {
  const dp_target *target;
  const dp_value *last;
  bool inverted, is_causal;
} dp_causal_masks;

// Whether it is such a mask for scores of so many queries and keys: query i sees keys 0 to i. A bool mask is true where
// keys are seen, or, inverted, where they are hidden; one that is added is 0, or hides (dp_causal_hides).
bool dp_causal_is(dp_causal_masks *masks, const dp_value *mask, bool inverted, int64_t queries, int64_t keys);
// Whether a key with this number in the place of its score, or added to it, has no share whatever the scores are that
// can be seen: -infinity, or the lowest number of a type that networks are exported with.
static inline bool dp_causal_hides(double number) { return number < -1e30; }

#endif
