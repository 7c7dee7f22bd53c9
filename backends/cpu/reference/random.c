// Random numbers by position in the whole tensor. See random.h.
#include "backends/cpu/reference/random.h"

#include "ir/base/philox.h"

int64_t dp_random_run(const dp_local *local, int64_t first, int64_t *whole_index) {
  int split = -1;  // the last split dim
  for (int d = 0; d < local->rank; d++)
    if (local->extents[d] != local->whole[d]) split = d;
  if (split < 0) {
    *whole_index = first;
    return dp_local_count(local) - first;
  }
  int64_t inner = dp_product(local->extents, split + 1, local->rank);
  int64_t run = (local->hi[split] - local->lo[split]) * local->unit[split] * inner;
  int64_t rest = first / inner, stride = inner, index = first % inner;
  for (int d = split; d >= 0; d--) {
    index += dp_local_to_whole(local, d, rest % local->extents[d]) * stride;
    rest /= local->extents[d];
    stride *= local->whole[d];
  }
  *whole_index = index;
  return run - first % run;
}

void dp_random_fill(const dp_random *random, int64_t first, int count, double values[DP_RANDOM_CHUNK]) {
  for (int i = 0; i < count;) {
    int64_t index, length = dp_random_run(random->local, first + i, &index);
    int end = i + (int)dp_min_i64(length, count - i);
    while (i < end) {
      uint32_t block[4];
      dp_philox_block(random->seed, random->step, random->name, (uint64_t)index / 4, block);
      for (int lane = (int)(index % 4); lane < 4 && i < end; lane++, index++, i++)
        values[i] = random->normal ? dp_philox_normal(block, lane) : dp_philox_uniform(block[lane]);
    }
  }
}
