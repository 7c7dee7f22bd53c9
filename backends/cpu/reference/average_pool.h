// What AveragePool and its gradient share: the divisor of a window, and a loop over planes.
#ifndef DP_BACKENDS_CPU_REFERENCE_AVERAGE_POOL_H
#define DP_BACKENDS_CPU_REFERENCE_AVERAGE_POOL_H

#include "backends/cpu/reference/pool.h"

// The number of x's elements in window `index`; with `padding`, padding counts too, but not what ceil_mode adds beyond
// it.
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

// Computes plane number `plane`: from x to y, or from dy to dx.
typedef void dp_average_plane(const dp_window *window, int64_t plane, bool padding, const void *from, void *to);

// Runs `of_float` or `of_double` on the planes of this part; x: the shard of AveragePool's operand, or of its gradient.
static inline dp_status dp_average_pool_run(const dp_call *call, const dp_local *x, dp_average_plane *of_float,
                                            dp_average_plane *of_double) {
  const bool padding = dp_node_int(call->spec->node, "count_include_pad", 0) != 0;
  dp_average_plane *run = call->spec->inputs[0].dtype == DP_FLOAT32 ? of_float : of_double;
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_pool_begin(call, x, &window, &lo, &hi));
  for (int64_t plane = lo; plane < hi; plane++) run(&window, plane, padding, call->in[0], call->out[0]);
  return DP_OK;
}

#endif
