// See pooling.h.
#include "backends/cuda/cudnn/pooling.h"

#include <stdlib.h>

#include "backends/base/window.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/function.h"

typedef struct {
  const dp_cudnn_pooling *pooling;
  bool planned;
  dp_cudnn_plan plan;
  void *own;  // the state of our own function, if it is not planned
} step;

// Describes it as cuDNN sees it. False: cuDNN has no such windows, or what it would compute is something else. Its
// padding at the end is what the windows reach over; ceil_mode's excess never counts in a mean.
static bool describe(const dp_kernel_spec *spec, const dp_cudnn_pooling *pooling, const dp_local *x, const dp_window *w,
                     dp_cudnn_pool *pool) {
  *pool = (dp_cudnn_pool){.kind = pooling->kind,
                          .dtype = spec->inputs[0].dtype,
                          .counts = dp_node_int(spec->node, "count_include_pad", 0) != 0,
                          .spatial = x->rank > 4 ? 3 : 2,
                          .x = {x->extents[0], x->extents[1]},
                          .y = {x->extents[0], x->extents[1]}};
  if (!w->x_plane || !w->y_plane || !x->extents[0] || !x->extents[1]) return false;
  for (int d = 0; d < pool->spatial; d++) {
    const int from = d + 3 - pool->spatial;
    const int64_t reach = (w->y[from] - 1) * w->stride[from] + w->kernel[from] - w->x[from] - w->pad[from];
    pool->x[2 + d] = w->x[from];
    pool->y[2 + d] = w->y[from];
    pool->window[d] = w->kernel[from];
    pool->stride[d] = w->stride[from];
    pool->pre[d] = w->pad[from];
    pool->post[d] = reach > 0 ? reach : 0;
    const bool outside = pool->pre[d] >= pool->window[d] || pool->post[d] >= pool->window[d];
    const bool excess = pool->counts && pool->post[d] > w->pad_end[from];
    if (outside || excess || (w->dilation[from] > 1 && w->kernel[from] > 1)) return false;
  }
  return true;
}

static dp_status plan(const dp_kernel_spec *spec, step *s) {
  const dp_cudnn_pooling *pooling = s->pooling;
  const dp_local *x = &spec->inputs[0].local;
  dp_window window;
  dp_cudnn_pool pool;
  const dp_cudnn_calls *calls;
  cudnnHandle_t handle;
  DP_TRY(dp_window_make(spec, x, NULL, &window));
  if (!describe(spec, pooling, x, &window, &pool)) return DP_OK;
  DP_TRY(dp_cudnn_load(&calls));
  DP_TRY(dp_cudnn_open(&handle));
  DP_TRY(dp_cudnn_pool_plan(calls, handle, NULL, &pool, &s->plan, &s->planned));
  if (s->planned)
    dp_cuda_choice_add("cuDNN engine %lld, workspace %lld bytes", (long long)s->plan.engine,
                       (long long)s->plan.workspace_bytes);
  else
    dp_cuda_choice_add("no engine of cuDNN's");
  return DP_OK;
}

dp_status dp_cudnn_pooling_prepare(const dp_kernel_spec *spec, const dp_cudnn_pooling *pooling, void **state) {
  step *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for the state of pooling");
  s->pooling = pooling;
  dp_status status = plan(spec, s);
  if (!status && !s->planned) status = pooling->own->prepare(spec, &s->own);
  if (status)
    dp_cudnn_pooling_release(s);
  else
    *state = s;
  return status;
}

void dp_cudnn_pooling_release(void *state) {
  step *s = state;
  if (!s) return;
  if (s->planned) dp_cudnn_plan_release(&s->plan);
  if (s->own) s->pooling->own->release(s->own);
  free(s);
}

dp_status dp_cudnn_pooling_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                   void *const *out, void *scratch) {
  const step *s = state;
  if (!s->planned) return s->pooling->own->enqueue(spec, s->own, queue, in, out, scratch);
  const int64_t ids[] = {1, 2};  // x, y
  const void *const data[] = {in[0], out[0]};
  return dp_cudnn_plan_put(&s->plan, dp_cuda_queue_stream(queue), 2, ids, data, NULL);
}
