// GlobalAveragePool: the mean over all spatial dims. Where they are split, the parts' results add up to it. The result,
// whose planes have one element, is the same in all layouts.
#include "backends/cuda/device/plane_mean.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/windows/window.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  const bool nhwc = spec->inputs[0].layout == DP_LAYOUT_NHWC;
  DP_TRY(dp_cuda_window_function(nhwc ? "plane_mean_rows" : "plane_mean", spec->inputs[0].dtype, "",
                                 nhwc ? dp_cuda_source_plane_mean_rows : dp_cuda_source_plane_mean, &function));
  *state = (void *)(uintptr_t)function;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_local *x = &spec->inputs[0].local;
  dp_plane_mean_arguments arguments = {.x = in[0],
                                       .y = out[0],
                                       .planes = x->extents[0] * x->extents[1],
                                       .elements = 1,
                                       .channels = x->extents[1],
                                       .columns = dp_max_i64(1, dp_min_i64(x->extents[1], DP_PLANE_MEAN_COLUMNS)),
                                       .divisor = 1};
  for (int d = 2; d < x->rank; d++) {
    arguments.elements *= x->extents[d];
    arguments.divisor *= (double)x->whole[d];
  }
  const int64_t tiles = (arguments.channels + arguments.columns - 1) / arguments.columns;
  const int64_t blocks = spec->inputs[0].layout == DP_LAYOUT_NHWC ? x->extents[0] * tiles : arguments.planes;
  return dp_cuda_launch(queue, state, blocks, DP_PLANE_MEAN_THREADS, &arguments, sizeof arguments);
}

const dp_kernel dp_kernel_cuda_GlobalAveragePool = {
    .name = "cuda.device.GlobalAveragePool",
    .op = "GlobalAveragePool",
    .domain = "",
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
