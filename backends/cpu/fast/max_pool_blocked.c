// MaxPool of float32 images in blocks of channels (DP_LAYOUT_NCHW8C, DP_LAYOUT_NCHW16C) by vectors. Without indices.
#include "backends/cpu/fast/max_pool.h"

static bool lies_alike(const dp_kernel_operand *x, const dp_kernel_operand *y) {
  return dp_layout_block(x->layout) && x->layout == y->layout;
}

static bool match(const dp_kernel_spec *spec) {
  return lies_alike(&spec->inputs[0], &spec->outputs[0]) && dp_fast_max_pool_match(spec) &&
         !(spec->n_outputs > 1 && spec->outputs[1].present);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  const dp_vector_max_pool *vector = state;
  const dp_local *x = &spec->inputs[0].local;
  const int64_t block = dp_layout_block(spec->inputs[0].layout);
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_window_make(spec, x, NULL, &window));
  dp_part_range(x->extents[0] * x->extents[1] / block, part, parts, &lo, &hi);
  const dp_plane_window planes = dp_fast_max_pool_window(&window);
  for (int64_t i = lo; i < hi; i++)
    (block == 8 ? vector->pool_8 : vector->pool_16)(&planes, (const float *)in[0] + i * block * window.x_plane,
                                                    (float *)out[0] + i * block * window.y_plane);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_blocked_MaxPool = {
    .name = "cpu.fast_blocked.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .priority = 5,
    .library = true,
    .blocked = true,
    .parts = true,
    .isa = true,
    .shares_state = true,
    .match = match,
    .prepare = dp_fast_max_pool_prepare,
    .run = run,
};
