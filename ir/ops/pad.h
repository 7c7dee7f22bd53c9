// How much Pad adds before and after each dim, and what. For kernels too.
#ifndef DP_IR_OPS_PAD_H
#define DP_IR_OPS_PAD_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DP_PAD_CONSTANT, DP_PAD_EDGE, DP_PAD_REFLECT, DP_PAD_WRAP } dp_pad_mode;

typedef struct {
  dp_pad_mode mode;
  int64_t begin[DP_MAX_RANK], end[DP_MAX_RANK];  // negative: elements are removed
} dp_pad;

// From the attributes mode, pads, axes, of a tensor of shape x.
dp_status dp_pad_make(const dp_node *node, const dp_shape *x, dp_pad *pad) DP_MUST_USE;
// The position along a dim of `extent` elements that position i of the result shows, with `begin` before it; -1: the
// constant.
static inline int64_t dp_pad_from(dp_pad_mode mode, int64_t i, int64_t begin, int64_t extent) {
  int64_t from = i - begin, turn = 2 * (extent - 1);
  if (from >= 0 && from < extent) return from;
  switch (mode) {
    case DP_PAD_EDGE:
      return from < 0 ? 0 : extent - 1;
    case DP_PAD_WRAP:
      return (from % extent + extent) % extent;
    case DP_PAD_REFLECT:
      if (!turn) return 0;
      from = (from % turn + turn) % turn;
      return from < extent ? from : turn - from;
    default:
      return -1;
  }
}

#ifdef __cplusplus
}
#endif
#endif
