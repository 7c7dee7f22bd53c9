// Counts the elements of type T that a node would refuse, a block for each share of them, WIDTH neighbours at a time.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/count_refused.h"
#include "backends/cuda/device/rows.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

enum { LOCAL(each) = 8 };  // vectors that a thread has under way

DP_BLOCK_KERNEL(dp_count_refused_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_i64 limit = a.scale * (a.n ? *a.n : 0) + a.offset, least = a.negative ? -limit : 0;
  const T *x = (const T *)a.x;
  const dp_i64 vectors = (a.count + WIDTH - 1) / WIDTH;
  const dp_row_share mine = dp_row_share_of(vectors, a.shares, dp_block());
  int refused = 0;
  for (dp_i64 k = mine.first + dp_thread(); k < mine.end; k += dp_threads() * LOCAL(each)) {
    LOCAL(vector) v[LOCAL(each)];
    // The last vector may not be whole.
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      const dp_i64 next = k + u * dp_threads(), at = (next < mine.end ? next : k) * WIDTH;
      if (at + WIDTH <= a.count)
        v[u] = LOCAL(load)(x + at, a.aligned);
      else
        for (int l = 0; l < WIDTH; l++) v[u].e[l] = x[at + l < a.count ? at + l : at];
    }
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      const dp_i64 at = (k + u * dp_threads()) * WIDTH, end = mine.end * WIDTH < a.count ? mine.end * WIDTH : a.count;
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++) {
        const dp_i64 z = (dp_i64)v[u].e[l];
        const bool taken = a.bounded ? (z >= least && z < limit) || (a.has_other && z == a.other) : z != 0;
        refused += !taken && at + l < end;
      }
    }
  }
  const dp_i64 all = (dp_i64)dp_block_sum(refused, shared);
  if (dp_thread()) return;
  if (a.parts)
    a.parts[dp_block()] = all;
  else
    dp_count_refused_end(&a, all);
}
