// See max_pool.h.
#include "backends/cpu/fast/max_pool.h"
#include "backends/cpu/onednn/table.h"

bool dp_fast_max_pool_match(const dp_kernel_spec *spec) {
  dp_window w;
  if (spec->inputs[0].dtype != DP_FLOAT32 || spec->inputs[0].local.rank > 4) return false;
  dp_status status = dp_window_make(spec, &spec->inputs[0].local, NULL, &w);
  bool matches = !status;
  dp_status_free(status);
  for (int d = 0; d < 3 && matches; d++) {
    const int64_t last = (w.y[d] - 1) * w.stride[d] - w.pad[d];
    matches = w.dilation[d] == 1 && w.pad[d] < w.kernel[d] && last < w.x[d];
  }
  return matches && w.x[2] <= DP_VECTOR_WIDEST;
}

dp_plane_window dp_fast_max_pool_window(const dp_window *w) {
  dp_plane_window p;
  for (int d = 0; d < 2; d++) {
    p.x[d] = w->x[d + 1];
    p.y[d] = w->y[d + 1];
    p.kernel[d] = w->kernel[d + 1];
    p.stride[d] = w->stride[d + 1];
    p.pad[d] = w->pad[d + 1];
  }
  return p;
}

dp_status dp_fast_max_pool_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &dp_vector_max_pool_avx2, &dp_vector_max_pool_avx512, state);
}
