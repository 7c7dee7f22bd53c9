// A mask as float32 without infinities, with all rows and keys. See attention_around.h. T: the mask's type.
#include "backends/cuda/device/attention_around.h"

DP_KERNEL(dp_attention_mask_arguments) {
  const dp_i64 i = dp_index();
  if (i >= a.count) return;
  const dp_i64 j = i % a.keys, l = i / a.keys % a.length, h = i / a.keys / a.length % a.heads;
  const dp_i64 b = i / a.keys / a.length / a.heads;
  const T *mask = (const T *)a.mask + b * a.stride[0] + h * a.stride[1] + l * a.stride[2] + j * a.stride[3];
#ifdef SELECTS
  a.y[i] = *mask ? 0 : DP_ATTENTION_HIDDEN;
#else
  const float x = GET(*mask), most_hidden = x < DP_ATTENTION_LOWEST ? DP_ATTENTION_LOWEST : x;  // NaN stays
  a.y[i] = (double)x == -DP_INFINITY ? DP_ATTENTION_HIDDEN : most_hidden;
#endif
}
