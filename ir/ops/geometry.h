// Windows that slide over spatial dims: extents and pads of convolutions and pooling, as plain numbers; kernels use
// them too.
#ifndef DP_IR_OPS_GEOMETRY_H
#define DP_IR_OPS_GEOMETRY_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_MAX_SPATIAL = 3 };

// Per spatial dim. Window o of the result covers x[o * stride - pad_begin + t * dilation], t in [0, kernel).
typedef struct {
  int rank;
  int64_t x[DP_MAX_SPATIAL], y[DP_MAX_SPATIAL];  // extents of operand and result
  int64_t kernel[DP_MAX_SPATIAL], stride[DP_MAX_SPATIAL], dilation[DP_MAX_SPATIAL];
  int64_t pad_begin[DP_MAX_SPATIAL], pad_end[DP_MAX_SPATIAL];
} dp_geometry;

// From the attributes auto_pad, ceil_mode, dilations, kernel_shape, pads, strides. x: spatial extents of the operand;
// kernel: those of the weights; NULL: attribute kernel_shape. EX_DATAERR for impossible geometries.
dp_status dp_geometry_make(const dp_node *node, int rank, const int64_t *x, const int64_t *kernel,
                           dp_geometry *geometry);
// The same from whole shapes [N, C, spatial...] of x and w (NULL: attribute kernel_shape), whose spatial extents must
// be numbers; y: x's first dim, `channels`, the spatial extents of the result.
dp_status dp_geometry_shapes(const dp_node *node, const dp_shape *x, const dp_shape *w, dp_dim channels,
                             dp_geometry *geometry, dp_shape *y);
// A device's groups of channels: x_channels of the operand, w_channels = dim 1 of the weights, both local. Sharding
// rules split either whole groups or channels within each group.
static inline int64_t dp_geometry_groups(int64_t group, int64_t x_channels, int64_t w_channels) {
  return w_channels ? x_channels / w_channels : group;
}

// Pooling: dims 0 and 1 may be split, no others. infer, and the attributes of all pooling operators.
dp_status dp_geometry_infer_pool(dp_node *node);
void dp_geometry_sharding_pool(dp_sharding_rules *rules);

#ifdef __cplusplus
}
#endif
#endif
