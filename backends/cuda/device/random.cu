// What random numbers make of elements of type T: MADE(a, word, lane, x) is one's result, where `word` holds its block
// of words and `lane` its place there. READS: whether there are operands x. Where nothing is split, the elements of a
// block are neighbours, and written at once.
#include "backends/cuda/device/random.h"
#include "backends/cuda/device/vectors.h"

DP_VECTOR(LOCAL(vector), LOCAL(load), LOCAL(store), T, DP_RANDOM_EACH)

DP_DEVICE void LOCAL(one_by_one)(const dp_random_arguments *a, dp_i64 at) {
  dp_u32 word[4] = {0, 0, 0, 0};
  dp_i64 drawn = -1;
  for (dp_i64 i = at; i < at + DP_RANDOM_EACH && i < a->count; i++) {
    const dp_i64 index = dp_place_of(&a->draw.place, i);
    const int lane = (int)(index % 4);
    if (index / 4 != drawn) dp_draw_block(&a->draw, (dp_u64)(drawn = index / 4), word);
    const T x = READS ? ((const T *)a->x)[i] : PUT(0);
    ((T *)a->y)[i] = MADE(a, word, lane, x);
  }
}

DP_KERNEL(dp_random_arguments) {
  for (dp_i64 at = dp_index() * DP_RANDOM_EACH; at < a.count; at += dp_stride() * DP_RANDOM_EACH) {
    if (a.draw.place.rank || at + DP_RANDOM_EACH > a.count) {
      LOCAL(one_by_one)(&a, at);
      continue;
    }
    LOCAL(vector) v, made;
    dp_u32 word[4];
    for (int lane = 0; lane < DP_RANDOM_EACH; lane++) v.e[lane] = PUT(0);
    if (READS) v = LOCAL(load)((const T *)a.x + at, a.aligned);
    dp_draw_block(&a.draw, (dp_u64)(at / DP_RANDOM_EACH), word);
    DP_UNROLL
    for (int lane = 0; lane < DP_RANDOM_EACH; lane++) made.e[lane] = MADE(&a, word, lane, v.e[lane]);
    LOCAL(store)((T *)a.y + at, made, a.aligned);
  }
}
