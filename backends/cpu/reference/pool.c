// Pooling windows. See pool.h.
#ifndef T
#include "backends/cpu/reference/pool.h"

dp_status dp_pool_begin(const dp_call *call, const dp_local *x, dp_window *window, int64_t *lo, int64_t *hi) {
  DP_TRY(dp_window_make(call->spec, x, NULL, window));
  dp_part_range(x->extents[0] * x->extents[1], call->part, call->parts, lo, hi);
  return DP_OK;
}

#define T float
#include __FILE__
#define T double
#include __FILE__

#else

int64_t FN(dp_pool_argmax)(const dp_window *w, const dp_pool_box *box, const T *x) {
  if (dp_product(box->count, 0, 3) == 0) return -1;
  int64_t best = dp_pool_index(w, box, 0, 0, 0);
  for (int64_t a = 0; a < box->count[0]; a++)
    for (int64_t b = 0; b < box->count[1]; b++)
      for (int64_t c = 0; c < box->count[2]; c++) {
        int64_t at = dp_pool_index(w, box, a, b, c);
        if (x[at] > x[best] || (isnan(x[at]) && !isnan(x[best]))) best = at;
      }
  return best;
}
#undef T
#endif
