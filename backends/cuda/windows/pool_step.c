// See pool.h.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/pool.h"
#include "backends/cuda/windows/pool.h"
#include "backends/cuda/windows/pool_tiles.h"

typedef struct {
  const dp_cuda_function *function;
  int64_t blocks;
  dp_pool_arguments arguments;  // but for the addresses
} step;

static dp_pool_dim dim_of(const dp_local *x, int d) {
  return (dp_pool_dim){.unit = x->unit[d], .mine = x->hi[d] - x->lo[d], .k = x->k[d], .low = x->lo[d]};
}

// Whether every place that is computed, in a plane or beside it, is an int.
static bool is_small(const dp_window *w) {
  enum { MOST = INT_MAX / 4 };
  int64_t x = 1, y = 1;
  for (int d = 0; d < 3; d++) {
    const int64_t numbers[] = {w->x[d], w->y[d], w->kernel[d], w->stride[d], w->dilation[d], w->pad[d], w->pad_end[d]};
    for (size_t i = 0; i < DP_COUNT(numbers); i++)
      if (numbers[i] < 0 || numbers[i] > MOST) return false;
    if ((w->kernel[d] - 1) * w->dilation[d] > MOST || w->y[d] * w->stride[d] > MOST) return false;
    x *= w->x[d];
    y *= w->y[d];
    if (x > MOST || y > MOST) return false;
  }
  return true;
}

// The constants of pool.h.
static void write_window(const dp_window *w, int64_t neighbours, char *text, size_t room) {
  const struct {
    const char *name;
    const int64_t *of;
  } lists[] = {{"EXTENTS", w->x},         {"WINDOWS", w->y}, {"KERNEL", w->kernel},  {"STRIDE", w->stride},
               {"DILATION", w->dilation}, {"PAD", w->pad},   {"PAD_END", w->pad_end}};
  size_t n = (size_t)snprintf(text, room, "#define I %s\n#define NEIGHBOURS %lld\n", is_small(w) ? "int" : "dp_i64",
                              (long long)neighbours);
  for (size_t i = 0; i < DP_COUNT(lists) && n < room; i++)
    n += (size_t)snprintf(text + n, room - n, "#define %s %lld, %lld, %lld\n", lists[i].name, (long long)lists[i].of[0],
                          (long long)lists[i].of[1], (long long)lists[i].of[2]);
}

// Adds the function, and sets how it is launched.
static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_pool *pool, const dp_window *w, step *s) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  const dp_pool_arguments *a = &s->arguments;
  char window[1024], all[1536], tile[512] = "";
  const char *source = pool->source;
  dp_pool_tiles tiles;
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  write_window(w, nhwc ? dp_max_i64(1, a->channels) : 1, window, sizeof window);
  s->blocks = dp_cuda_blocks(a->count);
  if (pool->tiles && !nhwc && a->count && w->y_plane && is_small(w) && dp_cuda_pool_tiles(w, a->planes, &tiles)) {
    dp_cuda_pool_tiles_write(w, &tiles, tile, sizeof tile);
    source = pool->tiles;
    s->blocks = tiles.blocks;
  }
  snprintf(all, sizeof all, "%s%s", window, tile);
  return dp_cuda_window_function(pool->name, dtype, all, source, &s->function);
}

dp_status dp_cuda_pool_prepare(const dp_kernel_spec *spec, const dp_cuda_pool *pool, void **state) {
  const dp_local *x = pool->x < 0 ? &spec->outputs[0].local : &spec->inputs[pool->x].local;
  dp_window window;
  DP_TRY(dp_window_make(spec, x, NULL, &window));
  step made = {.arguments = {.count = dp_local_count(&spec->outputs[0].local),
                             .planes = x->extents[0] * x->extents[1],
                             .padding = dp_node_int(spec->node, "count_include_pad", 0) != 0,
                             .channels = x->extents[1],
                             .whole_channels = x->whole[1],
                             .dims = {dim_of(x, 0), dim_of(x, 1)},
                             .by_columns = dp_node_int(spec->node, "storage_order", 0) != 0}};
  DP_TRY(add_function(spec, pool, &window, &made));
  step *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of pooling");
  *s = made;
  *state = s;
  return DP_OK;
}

dp_status dp_cuda_pool_enqueue(const dp_cuda_pool *pool, const dp_kernel_spec *spec, void *state, dp_queue *queue,
                               const void *const *in, void *const *out) {
  const step *s = state;
  dp_pool_arguments arguments = s->arguments;
  if (!arguments.count) return DP_OK;
  arguments.x = pool->x < 0 ? NULL : in[pool->x];
  arguments.dy = pool->dy < 0 ? NULL : in[pool->dy];
  arguments.result = out[0];
  arguments.indices = spec->n_outputs > 1 && spec->outputs[1].present ? out[1] : NULL;
  return dp_cuda_launch(queue, s->function, s->blocks, DP_CUDA_THREADS, &arguments, sizeof arguments);
}
