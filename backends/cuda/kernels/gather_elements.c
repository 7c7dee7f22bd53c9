// GatherElements: picks elements along `axis`, of any type, by their bytes. A shard gives zeros for elements of other
// devices.
#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/elements.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define I %s\n",
           dp_cuda_type_of_bytes(dp_type_bytes(spec->inputs[0].dtype)), dp_cuda_type_of(spec->inputs[1].dtype)->stored);
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_gather_elements, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  dp_elements_arguments a = dp_cuda_elements_of(spec, queue);
  a.count = dp_out_count(spec, 0);
  a.indices = in[1];
  a.x = in[0];
  a.y = out[0];
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_GatherElements = {
    .name = "cuda.device.GatherElements",
    .op = "GatherElements",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
