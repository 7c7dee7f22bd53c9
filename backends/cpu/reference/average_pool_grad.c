// dp.AveragePoolGrad(dy): divides each window's gradient among the elements that AveragePool averaged.
#ifndef T
#include "backends/cpu/reference/average_pool.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_average_pool_run(&(dp_call){spec, in, out, scratch, part, parts}, &spec->outputs[0].local, plane_float,
                             plane_double);
}

const dp_kernel dp_kernel_reference_dp_AveragePoolGrad = {
    .name = "cpu.reference.dp.AveragePoolGrad",
    .op = "AveragePoolGrad",
    .domain = "dp",
    .parts = true,
    .run = run,
};

#else

static void FN(plane)(const dp_window *window, int64_t plane, bool padding, const void *from, void *to) {
  const T *dy = (const T *)from + plane * window->y_plane;
  T *dx = (T *)to + plane * window->x_plane;
  for (int64_t i = 0; i < window->x_plane; i++) dx[i] = 0;
  for (int64_t i = 0; i < window->y_plane; i++) {
    dp_pool_box box = dp_pool_box_of(window, i);
    double count = dp_average_count(window, &box, i, padding);
    T share = (T)(count > 0 ? (double)dy[i] / count : 0);
    for (int64_t a = 0; a < box.count[0]; a++)
      for (int64_t b = 0; b < box.count[1]; b++)
        for (int64_t c = 0; c < box.count[2]; c++) dx[dp_pool_index(window, &box, a, b, c)] += share;
  }
}
#undef T
#endif
