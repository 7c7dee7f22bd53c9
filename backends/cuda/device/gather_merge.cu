// Merges GATHER_WAYS sorted runs of keys into one, for all keys: each goes behind those of all runs that are less. The
// last merge finds where each slice's keys begin as well, as the place that the slice's least key would have.
#include "backends/cuda/device/gather.h"

// How many of a run's keys are less.
DP_DEVICE dp_i64 LOCAL(less)(const dp_u64 *run, dp_i64 length, dp_u64 key) {
  dp_i64 low = 0, high = length;
  while (low < high) {
    const dp_i64 middle = (low + high) / 2;
    if (run[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

DP_KERNEL(dp_gather_merge_arguments) {
  const dp_i64 all = a.count + (a.starts ? a.here + 1 : 0), merged = a.length * DP_GATHER_WAYS;
  for (dp_i64 i = dp_index(); i < all; i += dp_stride()) {
    const bool moves = i < a.count;
    const dp_u64 key = moves ? a.from[i] : (dp_u64)(i - a.count) << a.shift;
    const dp_i64 begin = moves ? i / merged * merged : 0, end = begin + merged < a.count ? begin + merged : a.count;
    dp_i64 place = begin;
    for (dp_i64 run = begin; run < end; run += a.length)
      place += LOCAL(less)(a.from + run, run + a.length < end ? a.length : end - run, key);
    if (moves)
      a.to[place] = key;
    else
      a.starts[i - a.count] = place;
  }
}
