// See pool.h.
#include <stdlib.h>

#include "backends/cuda/device/pool.h"
#include "backends/cuda/windows/pool.h"

typedef struct {
  const dp_cuda_function *function;
  dp_pool_arguments arguments;  // but for the addresses
} step;

static dp_pool_dim dim_of(const dp_local *x, int d) {
  return (dp_pool_dim){.unit = x->unit[d], .mine = x->hi[d] - x->lo[d], .k = x->k[d], .low = x->lo[d]};
}

dp_status dp_cuda_pool_prepare(const dp_kernel_spec *spec, const dp_cuda_pool *pool, void **state) {
  const dp_local *x = pool->x < 0 ? &spec->outputs[0].local : &spec->inputs[pool->x].local;
  dp_window window;
  const dp_cuda_function *function;
  DP_TRY(dp_window_make(spec, x, NULL, &window));
  DP_TRY(dp_cuda_window_function(pool->name, spec->inputs[0].dtype, pool->source, &function));
  step *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of pooling");
  *s = (step){.function = function,
              .arguments = {.count = dp_local_count(&spec->outputs[0].local),
                            .padding = dp_node_int(spec->node, "count_include_pad", 0) != 0,
                            .window = dp_cuda_window(&window),
                            .channels = x->extents[1],
                            .whole_channels = x->whole[1],
                            .dims = {dim_of(x, 0), dim_of(x, 1)},
                            .by_columns = dp_node_int(spec->node, "storage_order", 0) != 0}};
  *state = s;
  return DP_OK;
}

dp_status dp_cuda_pool_enqueue(const dp_cuda_pool *pool, const dp_kernel_spec *spec, void *state, dp_queue *queue,
                               const void *const *in, void *const *out) {
  const step *s = state;
  dp_pool_arguments arguments = s->arguments;
  arguments.x = pool->x < 0 ? NULL : in[pool->x];
  arguments.dy = pool->dy < 0 ? NULL : in[pool->dy];
  arguments.result = out[0];
  arguments.indices = spec->n_outputs > 1 && spec->outputs[1].present ? out[1] : NULL;
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(arguments.count), DP_CUDA_THREADS, &arguments,
                        sizeof arguments);
}
