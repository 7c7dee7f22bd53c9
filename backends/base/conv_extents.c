// The extents of a convolution. See conv_extents.h.
#include "backends/base/conv_extents.h"

#include "ir/ops/geometry.h"

dp_status dp_conv_make(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_conv *conv) {
  dp_conv c = {
      .samples = x->extents[0], .x_channels = x->extents[1], .y_channels = w->extents[0], .x_group = w->extents[1]};
  DP_TRY(dp_window_make(spec, x, w, &c.window));
  c.groups = dp_geometry_groups(dp_node_int(spec->node, "group", 1), c.x_channels, c.x_group);
  c.y_group = c.groups ? c.y_channels / c.groups : 0;
  *conv = c;
  return DP_OK;
}
