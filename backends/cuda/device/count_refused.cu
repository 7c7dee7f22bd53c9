// Counts the elements of type T that a node would refuse, a block for each share of them, WIDTH neighbours at a time.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/count_refused.h"
#include "backends/cuda/device/rows.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, WIDTH)

// Vectors that a thread has under way. Where x is not aligned, each of their elements takes a register.
enum { LOCAL(each) = WIDTH > 8 ? 4 : 8 };

// The numbers that are taken, as dp_count_refused_arguments says.
typedef struct {
  dp_i64 least, limit, other;
  bool bounded, has_other;
} LOCAL(range);

DP_DEVICE int LOCAL(refuses)(const LOCAL(range) * r, T x) {
  const dp_i64 z = (dp_i64)x;
  return !(r->bounded ? (z >= r->least && z < r->limit) || (r->has_other && z == r->other) : z != 0);
}

DP_BLOCK_KERNEL(dp_count_refused_arguments) {
  DP_SHARED double shared[DP_BLOCK_SHARED];
  const dp_i64 limit = a.scale * (a.n ? *a.n : 0) + a.offset;
  const LOCAL(range) range = {a.negative ? -limit : 0, limit, a.other, a.bounded != 0, a.has_other != 0};
  const T *x = (const T *)a.x;
  const dp_row_share mine = dp_row_share_of(a.count / WIDTH, a.shares, dp_block());
  int refused = 0;
  for (dp_i64 k = mine.first + dp_thread(); k < mine.end; k += dp_threads() * LOCAL(each)) {
    LOCAL(vector) v[LOCAL(each)];
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      const dp_i64 next = k + u * dp_threads();
      v[u] = LOCAL(load)(x + (next < mine.end ? next : k) * WIDTH, a.aligned);
    }
    DP_UNROLL
    for (int u = 0; u < LOCAL(each); u++) {
      if (k + u * dp_threads() >= mine.end) break;
      DP_UNROLL
      for (int l = 0; l < WIDTH; l++) refused += LOCAL(refuses)(&range, v[u].e[l]);
    }
  }
  // The last elements, fewer than a vector's.
  const dp_i64 rest = a.count / WIDTH * WIDTH + dp_thread();
  if (dp_block() == a.shares - 1 && rest < a.count) refused += LOCAL(refuses)(&range, x[rest]);
  const dp_i64 all = (dp_i64)dp_block_sum(refused, shared);
  if (dp_thread()) return;
  if (a.parts)
    a.parts[dp_block()] = all;
  else
    dp_count_refused_end(&a, all);
}
