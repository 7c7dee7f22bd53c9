// GlobalAveragePool: the mean over all spatial dims. Where they are split, the parts' results add up to it. The result,
// whose planes have one element, is the same in all layouts.
#include <stdio.h>

#include "backends/cuda/device/plane_mean.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/windows/window.h"
#include "ir/kernel/extents.h"

// The largest planes of which a block takes several.
enum { SMALL_BYTES = 1024 };

static bool is_nhwc(const dp_kernel_spec *spec) { return spec->inputs[0].layout == DP_LAYOUT_NHWC; }

static int64_t plane_of(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  return dp_product(x->extents, 2, x->rank);
}

static bool is_small(const dp_kernel_spec *spec) {
  const int64_t elements = plane_of(spec);
  return !is_nhwc(spec) && elements && elements * (int64_t)dp_type_bytes(spec->inputs[0].dtype) <= SMALL_BYTES;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[96];
  snprintf(defines, sizeof defines, "#define ELEMENTS %d\n#define WIDTH %d\n", (int)plane_of(spec),
           DP_VECTOR_BYTES / (int)dp_type_bytes(dtype));
  if (is_nhwc(spec))
    DP_TRY(dp_cuda_window_function("plane_mean_rows", dtype, "", dp_cuda_source_plane_mean_rows, &function));
  else if (is_small(spec))
    DP_TRY(dp_cuda_window_function("plane_mean_tiles", dtype, defines, dp_cuda_source_plane_mean_tiles, &function));
  else
    DP_TRY(dp_cuda_window_function("plane_mean", dtype, "", dp_cuda_source_plane_mean, &function));
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
                                       .elements = plane_of(spec),
                                       .channels = x->extents[1],
                                       .columns = dp_max_i64(1, dp_min_i64(x->extents[1], DP_PLANE_MEAN_COLUMNS)),
                                       .aligned = (uintptr_t)in[0] % DP_VECTOR_BYTES == 0,
                                       .divisor = 1};
  for (int d = 2; d < x->rank; d++) arguments.divisor *= (double)x->whole[d];
  if (is_small(spec)) {
    const int64_t blocks = (arguments.planes + DP_PLANE_MEAN_TILE - 1) / DP_PLANE_MEAN_TILE;
    const int threads = DP_PLANE_MEAN_TILE * DP_PLANE_MEAN_SHARERS;
    return dp_cuda_launch(queue, state, blocks, threads, &arguments, sizeof arguments);
  }
  const int64_t tiles = (arguments.channels + arguments.columns - 1) / arguments.columns;
  const int64_t blocks = is_nhwc(spec) ? x->extents[0] * tiles : arguments.planes;
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
