// Fills y, of type T, with a scaled bias, broadcast, or adds it to y. See spread.h.
#include "backends/cuda/device/spread.h"

DP_KERNEL(dp_spread_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  W value = 0;
  if (a.c) {
    const T *c = (const T *)a.c;
    value = (W)a.factor * GET(c[i / a.columns % a.rows * a.row + i % a.columns * a.column]);
  }
  W sum = 0;
  for (dp_i64 p = 0; p < a.parts; p++) sum += GET(((const T *)a.x)[p * a.count + i]);
  if (a.parts) value += sum;
  T *y = (T *)a.y;
  y[i] = PUT(a.adds ? GET(y[i]) + value : value);
}
