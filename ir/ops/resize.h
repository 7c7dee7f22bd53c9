// Resampling along one dim after another: how long each dim becomes, and which elements make each element of the result.
// Resize, Upsample. The formulas are those of ONNX's Resize.
#ifndef DP_IR_OPS_RESIZE_H
#define DP_IR_OPS_RESIZE_H

#include "ir/ops/compose.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  bool resized;
  int64_t in, out;
  double scale, roi_start, roi_end;
} dp_resize_dim;

typedef struct {
  const char *mode, *coordinates, *nearest;
  double cubic_a, extrapolation;
  bool antialias, exclude_outside;
  int rank;
  dp_resize_dim dims[DP_MAX_RANK];
} dp_resize;

// From the attributes of Resize.
dp_status dp_resize_make(const dp_node *node, dp_resize *resize) DP_MUST_USE;
// Sets the scale and the result's extent of a dim by a scale. EX_DATAERR when it cannot be.
dp_status dp_resize_by_scale(dp_dim extent, double scale, dp_resize_dim *dim) DP_MUST_USE;
// The result's shape.
dp_shape dp_resize_shape(const dp_resize *resize, const dp_shape *x);
dp_value *dp_resize_build(dp_builder *builder, const dp_resize *resize, dp_value *x);
// Types: linear and cubic take floats only.
dp_status dp_resize_check_type(const dp_resize *resize, dp_dtype dtype) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
