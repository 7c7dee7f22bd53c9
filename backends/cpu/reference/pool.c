// Pooling windows. See pool.h.
#include "backends/cpu/reference/pool.h"

dp_status dp_pool_begin(const dp_call *call, const dp_local *x, dp_window *window, int64_t *lo, int64_t *hi) {
  DP_TRY(dp_window_make(call->spec, x, NULL, window));
  dp_part_range(x->extents[0] * x->extents[1], call->part, call->parts, lo, hi);
  return DP_OK;
}
