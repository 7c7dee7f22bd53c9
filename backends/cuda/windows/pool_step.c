// See pool.h.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/pool.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/windows/pool.h"
#include "backends/cuda/windows/pool_tiles.h"
#include "ir/kernel/extents.h"

typedef struct {
  const dp_cuda_function *function;
  int64_t blocks;
} launch;

typedef struct {
  launch vectors, elements;     // vectors: for addresses of whole vectors; otherwise, and where there is none, elements
  uint64_t vector_bytes;        // 0: there is none
  dp_pool_arguments arguments;  // but for the addresses
} step;

static dp_pool_dim dim_of(const dp_local *x, int d) {
  return (dp_pool_dim){.unit = x->unit[d], .mine = x->hi[d] - x->lo[d], .k = x->k[d], .low = x->lo[d]};
}

// The constants of pool.h.
static void write_window(const dp_kernel_spec *spec, const dp_window *w, int64_t neighbours, char *text, size_t room) {
  const struct {
    const char *name;
    const int64_t *of;
  } lists[] = {{"EXTENTS", w->x},         {"WINDOWS", w->y}, {"KERNEL", w->kernel},  {"STRIDE", w->stride},
               {"DILATION", w->dilation}, {"PAD", w->pad},   {"PAD_END", w->pad_end}};
  size_t n = (size_t)snprintf(text, room, "#define I %s\n#define NEIGHBOURS %lld\n#define PADDING %d\n",
                              dp_cuda_window_is_small(w) ? "int" : "dp_i64", (long long)neighbours,
                              dp_node_int(spec->node, "count_include_pad", 0) != 0);
  for (size_t i = 0; i < DP_COUNT(lists) && n < room; i++)
    n += (size_t)snprintf(text + n, room - n, "#define %s %lld, %lld, %lld\n", lists[i].name, (long long)lists[i].of[0],
                          (long long)lists[i].of[1], (long long)lists[i].of[2]);
}

static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_pool *pool, const char *constants,
                              const char *source, int64_t blocks, launch *made) {
  made->blocks = blocks;
  return dp_cuda_window_function(pool->name, spec->inputs[0].dtype, constants, source, &made->function);
}

// The function of plain tensors, and of elements in NHWC.
static dp_status add_elements(const dp_kernel_spec *spec, const dp_cuda_pool *pool, const dp_window *w, step *s) {
  const dp_pool_arguments *a = &s->arguments;
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  char window[1024], all[1600], tile[512];
  dp_pool_tiles tiles;
  write_window(spec, w, nhwc ? dp_max_i64(1, a->channels) : 1, window, sizeof window);
  if (!pool->tiles || nhwc || !a->count || !w->y_plane || !dp_cuda_window_is_small(w) ||
      !dp_cuda_pool_tiles(w, a->planes, &tiles))
    return add_function(spec, pool, window, pool->source, dp_cuda_blocks(a->count), &s->elements);
  dp_cuda_pool_tiles_write(w, &tiles, tile, sizeof tile);
  snprintf(all, sizeof all, "%s%s", window, tile);
  return add_function(spec, pool, all, pool->tiles, tiles.blocks, &s->elements);
}

// The function of vectors, of channels in NHWC and of rows of plain x, where there is one. Gradients of maxima take
// tiles, all else a vector of the result for each thread.
static dp_status add_vectors(const dp_kernel_spec *spec, const dp_cuda_pool *pool, const dp_window *w, step *s) {
  const dp_pool_arguments *a = &s->arguments;
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  const char *source = nhwc ? pool->rows : pool->columns;
  const int64_t bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype), neighbours = nhwc ? a->channels : w->x[2];
  int64_t vector = DP_VECTOR_BYTES / bytes;
  while (neighbours % vector) vector /= 2;
  const bool has_vectors = source && vector > 1 && a->count && w->x_plane && w->y_plane && dp_cuda_window_is_small(w) &&
                           dp_cuda_pool_is_flat(w) && w->kernel_plane <= DP_POOL_VECTOR_TAPS && !dp_has_out(spec, 1);
  char window[1024], all[1600], tile[512] = "";
  int64_t blocks = dp_cuda_blocks(a->count / vector);
  dp_pool_tiles tiles;
  if (!has_vectors) return DP_OK;
  if (pool->tiles) {
    if (!dp_cuda_pool_tiles_nhwc(w, a->planes / a->channels, a->channels / vector, &tiles)) return DP_OK;
    dp_cuda_pool_tiles_write(w, &tiles, tile, sizeof tile);
    blocks = tiles.blocks;
  }
  write_window(spec, w, nhwc ? a->channels : 1, window, sizeof window);
  snprintf(all, sizeof all, "%s%s#define VECTOR %lld\n", window, tile, (long long)vector);
  s->vector_bytes = (uint64_t)(vector * bytes);
  return add_function(spec, pool, all, source, blocks, &s->vectors);
}

dp_status dp_cuda_pool_prepare(const dp_kernel_spec *spec, const dp_cuda_pool *pool, void **state) {
  const dp_local *x = pool->x < 0 ? &spec->outputs[0].local : &spec->inputs[pool->x].local;
  dp_window window;
  DP_TRY(dp_window_make(spec, x, NULL, &window));
  step made = {.arguments = {.count = dp_local_count(&spec->outputs[0].local),
                             .planes = x->extents[0] * x->extents[1],
                             .channels = x->extents[1],
                             .whole_channels = x->whole[1],
                             .dims = {dim_of(x, 0), dim_of(x, 1)},
                             .by_columns = dp_node_int(spec->node, "storage_order", 0) != 0}};
  DP_TRY(add_elements(spec, pool, &window, &made));
  DP_TRY(add_vectors(spec, pool, &window, &made));
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
  const uintptr_t all = (uintptr_t)arguments.x | (uintptr_t)arguments.dy | (uintptr_t)arguments.result;
  const launch *l = s->vector_bytes && all % s->vector_bytes == 0 ? &s->vectors : &s->elements;
  return dp_cuda_launch(queue, l->function, l->blocks, DP_CUDA_THREADS, &arguments, sizeof arguments);
}
