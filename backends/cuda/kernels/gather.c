// Gather: the slices of data along `axis` that the indices name. A shard gives zeros for slices of other devices.
#include <stdio.h>

#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/index.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static int axis_of(const dp_kernel_spec *spec) {
  return dp_axis(dp_node_int(spec->node, "axis", 0), spec->inputs[0].local.rank);
}

static int64_t inner_of(const dp_kernel_spec *spec) {
  const dp_local *data = &spec->inputs[0].local;
  return dp_product(data->extents, axis_of(spec) + 1, data->rank);
}

// How many neighbours of a slice are moved at once.
static int64_t width_of(const dp_kernel_spec *spec) {
  int64_t width = DP_VECTOR_BYTES / (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  while (inner_of(spec) % width) width /= 2;
  return width;
}

static dp_gather_arguments arguments_of(const dp_kernel_spec *spec, dp_queue *queue, const void *const *in,
                                        void *const *out) {
  const dp_local *data = &spec->inputs[0].local;
  const int axis = axis_of(spec);
  const int64_t width = width_of(spec);
  const uintptr_t bytes = (uintptr_t)width * dp_type_bytes(spec->inputs[0].dtype);
  return (dp_gather_arguments){.outer = dp_product(data->extents, 0, axis),
                               .here = data->extents[axis],
                               .inner = inner_of(spec) / width,
                               .count = dp_in_count(spec, 1),
                               .aligned = ((uintptr_t)in[0] | (uintptr_t)out[0]) % bytes == 0,
                               .dim = dp_cuda_index_dim(data, axis, queue),
                               .indices = in[1],
                               .x = in[0],
                               .y = out[0]};
}

static bool match(const dp_kernel_spec *spec) {
  return spec->inputs[1].dtype == DP_INT32 || spec->inputs[1].dtype == DP_INT64;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define I %s\n#define WIDTH %d\n#define INDEX %s\n",
           dp_cuda_type_moved(spec->inputs[0].dtype)->defines, dp_cuda_type_of(spec->inputs[1].dtype)->stored,
           (int)width_of(spec), dp_out_count(spec, 0) <= UINT32_MAX ? "dp_u32" : "dp_u64");
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_gather, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_gather_arguments a = arguments_of(spec, queue, in, out);
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.outer * a.count * a.inner), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Gather = {
    .name = "cuda.device.Gather",
    .op = "Gather",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .enqueue = enqueue,
};
