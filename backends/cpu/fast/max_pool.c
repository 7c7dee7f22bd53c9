// MaxPool of float32 planes by vectors. Without indices, which the reference kernel gives.
#include "backends/cpu/fast/max_pool.h"

static bool match(const dp_kernel_spec *spec) {
  return dp_fast_max_pool_match(spec) && !(spec->n_outputs > 1 && spec->outputs[1].present);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  const dp_vector_max_pool *vector = state;
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_pool_begin(&(dp_call){spec, in, out, scratch, part, parts}, &spec->inputs[0].local, &window, &lo, &hi));
  const dp_plane_window planes = dp_fast_max_pool_window(&window);
  for (int64_t plane = lo; plane < hi; plane++)
    vector->pool(&planes, (const float *)in[0] + plane * window.x_plane, (float *)out[0] + plane * window.y_plane);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_MaxPool = {
    .name = "cpu.fast.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = match,
    .prepare = dp_fast_max_pool_prepare,
    .run = run,
};
