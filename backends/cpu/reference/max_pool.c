// MaxPool: the largest element of each window. Padding never wins; NaN does, as in PyTorch. (There is no oneDNN kernel,
// because oneDNN's drops NaN and would hide a diverged loss.)
#ifndef T
#include "backends/cpu/reference/pool.h"

// Where a plane's indices are written (NULL: nowhere), and the index of its first element in the whole operand.
typedef struct {
  int64_t *index, begin;
  bool by_columns;
} indices;

static int64_t plane_begin(const dp_kernel_spec *spec, int64_t plane, const dp_window *window) {
  const dp_local *x = &spec->inputs[0].local;
  int64_t n = dp_local_to_whole(x, 0, plane / x->extents[1]), c = dp_local_to_whole(x, 1, plane % x->extents[1]);
  return (n * x->whole[1] + c) * window->x_plane;
}

static int64_t index_of(const dp_window *w, const indices *where, int64_t index) {
  if (!where->by_columns) return where->begin + index;
  int64_t a = index / (w->x[1] * w->x[2]), b = index / w->x[2] % w->x[1], c = index % w->x[2];
  return where->begin + a + w->x[0] * (b + w->x[1] * c);
}

#define T float
#define LEAST -INFINITY
#include __FILE__
#define T double
#define LEAST -INFINITY
#include __FILE__
#define T int32_t
#define LEAST INT32_MIN
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  dp_window window;
  int64_t lo, hi;
  DP_TRY(dp_pool_begin(&(dp_call){spec, in, out, scratch, part, parts}, &spec->inputs[0].local, &window, &lo, &hi));
  for (int64_t plane = lo; plane < hi; plane++) {
    int64_t from = plane * window.x_plane, to = plane * window.y_plane;
    indices where = {dp_has_out(spec, 1) ? (int64_t *)out[1] + to : NULL, plane_begin(spec, plane, &window),
                     dp_node_int(spec->node, "storage_order", 0) != 0};
    if (spec->inputs[0].dtype == DP_FLOAT32)
      pool_float(&window, (const float *)in[0] + from, (float *)out[0] + to, &where);
    else if (spec->inputs[0].dtype == DP_FLOAT64)
      pool_double(&window, (const double *)in[0] + from, (double *)out[0] + to, &where);
    else
      pool_int32_t(&window, (const int32_t *)in[0] + from, (int32_t *)out[0] + to, &where);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_MaxPool = {
    .name = "cpu.reference.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .parts = true,
    .run = run,
};

#else

// y[i] = the larger of y[i] and x[i * stride]. NaN counts as the largest.
static void FN(take_larger)(T *y, const T *x, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    T value = x[i * stride];
    y[i] = value > y[i] || isnan((double)value) ? value : y[i];
  }
}

// Finds the first element of each window that equals y.
static void FN(find_indices)(const dp_window *window, const T *x, const T *y, const indices *where) {
  for (int64_t i = 0; i < window->y_plane; i++) {
    dp_pool_box box = dp_pool_box_of(window, i);
    int64_t found = -1;
    for (int64_t a = 0; a < box.count[0] && found < 0; a++)
      for (int64_t b = 0; b < box.count[1] && found < 0; b++)
        for (int64_t c = 0; c < box.count[2] && found < 0; c++) {
          int64_t at = dp_pool_index(window, &box, a, b, c);
          if (x[at] == y[i] || (x[at] != x[at] && y[i] != y[i])) found = at;
        }
    where->index[i] = index_of(window, where, dp_max_i64(found, 0));
  }
}

static void FN(pool)(const dp_window *window, const T *x, T *y, const indices *where) {
  for (int64_t i = 0; i < window->y_plane; i++) y[i] = (T)LEAST;
  for (int64_t tap = 0; tap < window->kernel_plane; tap++) {
    dp_window_runs r = dp_window_runs_of(window, tap);
    while (dp_window_next(&r)) FN(take_larger)(y + r.y, x + r.x, window->stride[2], r.count);
  }
  if (where->index) FN(find_indices)(window, x, y, where);
}
#undef T
#undef LEAST
#endif
