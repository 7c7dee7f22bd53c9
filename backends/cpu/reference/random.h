// The random numbers of ir/base/philox.h for a shard's elements. They depend on an element's position in the whole
// tensor, not on the split.
#ifndef DP_BACKENDS_CPU_REFERENCE_RANDOM_H
#define DP_BACKENDS_CPU_REFERENCE_RANDOM_H

#include "backends/cpu/reference/reference.h"

enum { DP_RANDOM_CHUNK = 256 };

typedef struct {
  const dp_local *local;
  uint64_t seed;
  uint32_t step, name;
  bool normal;  // standard normal, else uniform in [0, 1)
} dp_random;

// How many of the elements from local element `first` on are neighbours in the whole tensor; *index: that of the first.
int64_t dp_random_run(const dp_local *local, int64_t first, int64_t *index);
// values[i] = the random number of local element first + i, for 0 <= i < count <= DP_RANDOM_CHUNK.
void dp_random_fill(const dp_random *random, int64_t first, int count, double values[DP_RANDOM_CHUNK]);

#endif
