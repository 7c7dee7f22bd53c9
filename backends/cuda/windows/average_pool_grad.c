// dp.AveragePoolGrad(dy). See pool.h.
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/windows/pool.h"
#include "ir/kernel/extents.h"

static const dp_cuda_pool pool = {"average_pool_grad",
                                  dp_cuda_source_average_pool_grad,
                                  .rows = dp_cuda_source_average_pool_grad_rows,
                                  .columns = dp_cuda_source_average_pool_grad_columns,
                                  .x = -1,
                                  .dy = 0};

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_cuda_pool_prepare(spec, &pool, state); }

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  return dp_cuda_pool_enqueue(&pool, spec, state, queue, in, out);
}

const dp_kernel dp_kernel_cuda_dp_AveragePoolGrad = {
    .name = "cuda.device.dp.AveragePoolGrad",
    .op = "AveragePoolGrad",
    .domain = "dp",
    .types = DP_WINDOWS_TYPES,
    .channels_last = true,
    .match = dp_one_layout,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
