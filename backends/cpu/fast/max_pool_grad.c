// dp.MaxPoolGrad of float32 planes by vectors.
#include "backends/cpu/fast/max_pool.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_max_pool *vector = state;
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_pool_begin(&(dp_call){spec, in, out, scratch, part, parts}, &spec->inputs[0].local, &window, &lo, &hi));
  const dp_plane_window planes = dp_fast_max_pool_window(&window);
  for (int64_t plane = lo; plane < hi; plane++)
    vector->gradient(&planes, (const float *)in[0] + plane * window.x_plane,
                     (const float *)in[1] + plane * window.y_plane, (float *)out[0] + plane * window.x_plane);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_dp_MaxPoolGrad = {
    .name = "cpu.fast.dp.MaxPoolGrad",
    .op = "MaxPoolGrad",
    .domain = "dp",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = dp_fast_max_pool_match,
    .prepare = dp_fast_max_pool_prepare,
    .run = run,
};
