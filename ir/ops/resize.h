// Resampling along one dim after another: each dim's new length, and the elements that make each element of the result.
// Used by Resize and Upsample. The formulas are those of ONNX's Resize.
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

// Reads a node's attributes; EX_DATAERR when they are invalid.
typedef dp_status (*dp_resize_make)(const dp_node *node, dp_resize *resize);
// Sets a dim's scale and the result's extent from a scale. EX_DATAERR when it is invalid.
dp_status dp_resize_by_scale(dp_dim extent, double scale, dp_resize_dim *dim) DP_MUST_USE;
// infer and specialize for an operator whose nodes `make` reads.
dp_status dp_resize_infer(dp_node *node, dp_resize_make make) DP_MUST_USE;
void dp_resize_specialize(dp_builder *builder, const dp_node *node, dp_resize_make make, dp_value *const *in,
                          dp_value **out);

#ifdef __cplusplus
}
#endif
#endif
