// Statistics as a library's gradient takes them. See attention_around.h.
#include "backends/cuda/device/attention_around.h"

DP_KERNEL(dp_attention_statistics_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const float lse = a.lse[i];
  a.y[i] = (double)lse == -DP_INFINITY ? -DP_ATTENTION_HIDDEN : lse;
}
