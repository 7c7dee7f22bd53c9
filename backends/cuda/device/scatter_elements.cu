// Applies updates of type T to y, of type S, where indices of type I say along one dim: COMBINE(was, update). U is the
// type in which S is computed. A line of indices along that dim meets no other line's elements, so a thread applies a
// line's updates in their order. It reads several of them, and what they update, before it stores the first result.
#include "backends/cuda/device/elements.h"
#include "backends/cuda/device/vectors.h"

enum { LOCAL(each) = 8 };

// Sets updated[j] to what element at[j] is after update j, for those that are not -1; at first it is what they were.
DP_DEVICE void LOCAL(apply)(const dp_i64 *at, const S *updates, S *updated) {
  DP_UNROLL
  for (int j = 0; j < LOCAL(each); j++) {
    S was = updated[j];
    DP_UNROLL
    for (int m = 0; m < j; m++) was = at[m] == at[j] ? updated[m] : was;
    const S update = updates[j];
    if (at[j] >= 0) updated[j] = (S)(COMBINE(was, update));
  }
}

DP_KERNEL(dp_elements_arguments) {
  for (dp_i64 line = dp_index(); line < a.count; line += dp_stride()) {
    const dp_i64 first = line / a.inner * a.length * a.inner + line % a.inner;
    S *y = (S *)a.y + dp_elements_line(&a, first);
    for (dp_i64 k = 0; k < a.length; k += LOCAL(each)) {
      dp_i64 at[LOCAL(each)];
      S updates[LOCAL(each)], updated[LOCAL(each)];
      DP_UNROLL
      for (int j = 0; j < LOCAL(each); j++) {
        const dp_i64 i = first + (k + j) * a.inner;
        at[j] = -1;
        updates[j] = updated[j] = 0;
        if (k + j >= a.length) continue;
        const dp_i64 index = dp_index_here(&a.dim, (dp_i64)((const I *)a.indices)[i], i);
        at[j] = index < 0 ? -1 : index * a.data_inner;
        updates[j] = (S)GET(((const T *)a.x)[i]);
      }
      DP_UNROLL
      for (int j = 0; j < LOCAL(each); j++)
        if (at[j] >= 0) updated[j] = y[at[j]];
      LOCAL(apply)(at, updates, updated);
      DP_UNROLL
      for (int j = 0; j < LOCAL(each); j++)
        if (at[j] >= 0) y[at[j]] = updated[j];
    }
  }
}
