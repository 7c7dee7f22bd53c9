// Windows with three spatial dims. See window.h.
#include "backends/base/window.h"

#include "ir/ops/geometry.h"

dp_status dp_window_make(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_window *window) {
  dp_geometry g;
  int rank = x->rank - 2;
  DP_TRY(dp_geometry_make(spec->node, rank, x->extents + 2, w ? w->extents + 2 : NULL, &g));
  dp_window result;
  for (int d = 0; d < 3; d++) {
    int from = d - (3 - rank);
    bool own = from >= 0;
    result.x[d] = own ? g.x[from] : 1;
    result.y[d] = own ? g.y[from] : 1;
    result.kernel[d] = own ? g.kernel[from] : 1;
    result.stride[d] = own ? g.stride[from] : 1;
    result.dilation[d] = own ? g.dilation[from] : 1;
    result.pad[d] = own ? g.pad_begin[from] : 0;
    result.pad_end[d] = own ? g.pad_end[from] : 0;
  }
  result.x_plane = result.x[0] * result.x[1] * result.x[2];
  result.y_plane = result.y[0] * result.y[1] * result.y[2];
  result.kernel_plane = result.kernel[0] * result.kernel[1] * result.kernel[2];
  *window = result;
  return DP_OK;
}
