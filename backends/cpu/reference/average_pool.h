// AveragePool and its gradient: by how many elements a window divides.
#ifndef DP_BACKENDS_CPU_REFERENCE_AVERAGE_POOL_H
#define DP_BACKENDS_CPU_REFERENCE_AVERAGE_POOL_H

#include "backends/cpu/reference/pool.h"

// The elements of window `index` inside x; with `padding` also those in the padding, but not what ceil_mode reaches beyond.
static inline double dp_average_count(const dp_window *w, const dp_pool_box *box, int64_t index, bool padding) {
  if (!padding) return (double)dp_product(box->count, 0, 3);
  double count = 1;
  for (int d = 2; d >= 0; d--) {
    int64_t room = w->x[d] + w->pad_end[d] - (index % w->y[d] * w->stride[d] - w->pad[d]);
    count *= (double)dp_min_i64((room + w->dilation[d] - 1) / w->dilation[d], w->kernel[d]);
    index /= w->y[d];
  }
  return count;
}

#endif
