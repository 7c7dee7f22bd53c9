// Makes the keys of a gradient's indices of type I and sorts runs of them, a block for each. Batcher: "Sorting networks
// and their applications", 1968 (the bitonic sorter).
#include "backends/cuda/device/gather.h"

DP_DEVICE dp_u64 LOCAL(key)(const dp_gather_sort_arguments *a, dp_i64 j) {
  if (j >= a->count) return ~0ull;  // after all keys
  const dp_i64 slice = dp_index_here(&a->dim, (dp_i64)((const I *)a->indices)[j], j);
  return (dp_u64)(slice < 0 ? a->here : slice) << a->shift | (dp_u64)j;
}

DP_BLOCK_KERNEL(dp_gather_sort_arguments) {
  DP_SHARED dp_u64 keys[DP_GATHER_RUN];
  const dp_i64 first = dp_block() * DP_GATHER_RUN;
  for (int k = dp_thread(); k < DP_GATHER_RUN; k += dp_threads()) keys[k] = LOCAL(key)(&a, first + k);
  for (int size = 2; size <= DP_GATHER_RUN; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      dp_barrier();
      for (int pair = dp_thread(); pair < DP_GATHER_RUN / 2; pair += dp_threads()) {
        const int low = 2 * pair - pair % step, high = low + step;
        const dp_u64 p = keys[low], q = keys[high];
        const bool rises = !(low & size);
        if ((p > q) != rises) continue;
        keys[low] = q;
        keys[high] = p;
      }
    }
  }
  dp_barrier();
  for (int k = dp_thread(); k < DP_GATHER_RUN && first + k < a.count; k += dp_threads()) a.keys[first + k] = keys[k];
}
