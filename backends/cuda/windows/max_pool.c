// MaxPool. See pool.h.
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/windows/pool.h"
#include "ir/kernel/extents.h"

static const dp_cuda_pool pool = {"max_pool", dp_cuda_source_max_pool, .rows = dp_cuda_source_max_pool_rows, .x = 0,
                                  .dy = -1};

// int64 is for the indices alone.
static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype != DP_INT64 && dp_one_layout(spec); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_cuda_pool_prepare(spec, &pool, state); }

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  return dp_cuda_pool_enqueue(&pool, spec, state, queue, in, out);
}

const dp_kernel dp_kernel_cuda_MaxPool = {
    .name = "cuda.device.MaxPool",
    .op = "MaxPool",
    .domain = "",
    .types = DP_WINDOWS_TYPES | DP_BIT(DP_INT8) | DP_BIT(DP_UINT8) | DP_BIT(DP_INT64),
    .channels_last = true,
    .match = match,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
