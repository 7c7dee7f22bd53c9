// Gather: the slices of data along `axis` that the indices name. A shard gives zeros for slices of other devices.
// dp.GatherGrad adds slices there.
#include <stdio.h>

#include "backends/cuda/device/gather.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/index.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static bool is_index(dp_dtype dtype) { return dtype == DP_INT32 || dtype == DP_INT64; }

// data: the tensor that indices count in.
static dp_gather_arguments arguments_of(const dp_kernel_spec *spec, const dp_local *data, dp_queue *queue,
                                        const void *const *in, void *const *out) {
  const int axis = dp_axis(dp_node_int(spec->node, "axis", 0), data->rank);
  return (dp_gather_arguments){.outer = dp_product(data->extents, 0, axis),
                               .here = data->extents[axis],
                               .inner = dp_product(data->extents, axis + 1, data->rank),
                               .count = dp_in_count(spec, 1),
                               .dim = dp_cuda_index_dim(data, axis, queue),
                               .indices = in[1],
                               .x = in[0],
                               .y = out[0]};
}

static dp_status add_function(const dp_kernel_spec *spec, const dp_cuda_type *type, const char *source, void **state) {
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define I %s\n", type->defines, dp_cuda_type_of(spec->inputs[1].dtype)->stored);
  return dp_cuda_function_state(spec->op->name, defines, source, state);
}

static bool match_gather(const dp_kernel_spec *spec) { return is_index(spec->inputs[1].dtype); }

static dp_status prepare_gather(const dp_kernel_spec *spec, void **state) {
  return add_function(spec, dp_cuda_type_moved(spec->inputs[0].dtype), dp_cuda_source_gather, state);
}

static dp_status enqueue_gather(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)scratch;
  const dp_gather_arguments a = arguments_of(spec, &spec->inputs[0].local, queue, in, out);
  return dp_cuda_launch(queue, state, dp_cuda_blocks(dp_out_count(spec, 0)), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Gather = {
    .name = "cuda.device.Gather",
    .op = "Gather",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match_gather,
    .prepare = prepare_gather,
    .enqueue = enqueue_gather,
};

static bool match_gradient(const dp_kernel_spec *spec) {
  return is_index(spec->inputs[1].dtype) && (DP_BIT(spec->inputs[0].dtype) & DP_CUDA_FLOATS);
}

static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) {
  return add_function(spec, dp_cuda_type_of(spec->inputs[0].dtype), dp_cuda_source_gather_grad, state);
}

static dp_status enqueue_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                  void *const *out, void *scratch) {
  (void)scratch;
  const dp_gather_arguments a = arguments_of(spec, &spec->outputs[0].local, queue, in, out);
  if (!a.inner) return DP_OK;
  return dp_cuda_launch(queue, state, a.outer * a.here, DP_BLOCK_MOST, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_dp_GatherGrad = {
    .name = "cuda.device.dp.GatherGrad",
    .op = "GatherGrad",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .match = match_gradient,
    .prepare = prepare_gradient,
    .enqueue = enqueue_gradient,
};
