// start, start + delta, ... as type T, by the elements' positions in the whole tensor. STORE makes an element of a
// number: integers wrap; floats are rounded once.
#include "backends/cuda/device/range.h"

DP_KERNEL(dp_range_arguments) {
  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride())
    ((T *)a.y)[i] = STORE((dp_i64)(a.start + (dp_u64)dp_place_along(&a.place, 0, i) * a.delta));
}
