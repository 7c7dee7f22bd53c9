// Resampling along one dim after another: how long each dim becomes, and which elements make each element of the
// result. Resize, Upsample. The formulas are those of ONNX's Resize.
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

// Reads what a node asks for; EX_DATAERR when it cannot be.
typedef dp_status (*dp_resize_make)(const dp_node *node, dp_resize *resize);
// Sets the scale and the result's extent of a dim by a scale. EX_DATAERR when it cannot be.
dp_status dp_resize_by_scale(dp_dim extent, double scale, dp_resize_dim *dim) DP_MUST_USE;
// infer and specialize of an operator whose nodes `make` reads.
dp_status dp_resize_infer(dp_node *node, dp_resize_make make) DP_MUST_USE;
void dp_resize_specialize(dp_builder *builder, const dp_node *node, dp_resize_make make, dp_value *const *in,
                          dp_value **out);

#ifdef __cplusplus
}
#endif
#endif
