// Puts right what a library has computed for rows that see no key. See attention_around.h. T: y's type.
#include "backends/cuda/device/attention_around.h"

DP_KERNEL(dp_attention_rows_arguments) {
  const dp_i64 row = dp_index();
  if (row >= a.count) return;
  if (!(a.given_lse[row] < DP_ATTENTION_BLIND)) return;
  const dp_i64 l = row % a.length, h = row / a.length % a.heads, b = row / a.length / a.heads;
  const double value = a.zero_rows ? 0 : DP_NAN;
  T *y = (T *)a.y + ((b * a.length + l) * a.heads + h) * a.size;
  for (dp_i64 c = 0; c < a.size; c++) y[c] = PUT(value);
  if (a.lse) a.lse[row] = (float)(a.zero_rows ? -DP_INFINITY : DP_NAN);
}
