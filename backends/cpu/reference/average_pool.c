// AveragePool: the mean of each window's elements. Padding does not count unless count_include_pad is set.
#ifndef T
#include "backends/cpu/reference/average_pool.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_average_pool_run(&(dp_call){spec, in, out, scratch, part, parts}, &spec->inputs[0].local, plane_float,
                             plane_double);
}

const dp_kernel dp_kernel_reference_AveragePool = {
    .name = "cpu.reference.AveragePool",
    .op = "AveragePool",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

static void FN(plane)(const dp_window *window, int64_t plane, bool padding, const void *from, void *to) {
  const T *x = (const T *)from + plane * window->x_plane;
  T *y = (T *)to + plane * window->y_plane;
  for (int64_t i = 0; i < window->y_plane; i++) {
    dp_pool_box box = dp_pool_box_of(window, i);
    double sum = 0, count = dp_average_count(window, &box, i, padding);
    for (int64_t a = 0; a < box.count[0]; a++)
      for (int64_t b = 0; b < box.count[1]; b++)
        for (int64_t c = 0; c < box.count[2]; c++) sum += (double)x[dp_pool_index(window, &box, a, b, c)];
    y[i] = (T)(count > 0 ? sum / count : 0);
  }
}
#undef T
#endif
