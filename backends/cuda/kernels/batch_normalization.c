// BatchNormalization, its gradient, and the same for groups of samples. See batch.h.
#include <stdlib.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/batch.h"
#include "backends/cuda/kernels/region_batch.h"
#include "backends/cuda/kernels/types.h"

// operand: one that has the tensor's type.
static void *at(const void *tensor, int64_t elements, const dp_kernel_spec *spec, int operand) {
  return tensor ? (char *)(uintptr_t)tensor + elements * (int64_t)dp_type_bytes(spec->inputs[operand].dtype) : NULL;
}

static const void *operand(const dp_kernel_spec *spec, const void *const *in, int i) {
  return dp_has_in(spec, i) ? in[i] : NULL;
}

static void *result(const dp_kernel_spec *spec, void *const *out, int i) { return dp_has_out(spec, i) ? out[i] : NULL; }

// What the kernels have in common.
#define BATCH(PREPARE, ENQUEUE)                                                                 \
  .types = DP_CUDA_FLOATS, .channels_last = true, .match = dp_one_layout, .shares_state = true, \
  .scratch_bytes = dp_cuda_batch_scratch_bytes, .prepare = PREPARE, .release = free, .enqueue = ENQUEUE

// ---- forward --------------------------------------------------------------------------------------------------------

static dp_status prepare_forward(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_batch_sources plain = {dp_cuda_source_batch_statistics, NULL, dp_cuda_source_batch_apply};
  const dp_cuda_batch_sources nhwc = {dp_cuda_source_batch_rows_statistics, dp_cuda_source_batch_rows_join,
                                      dp_cuda_source_batch_rows_apply};
  return dp_cuda_batch_prepare(spec, &plain, &nhwc, state);
}

static dp_status enqueue_forward(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  dp_batch_arguments a = dp_cuda_batch_arguments(spec, spec->inputs[0].local.extents[0], scratch);
  a.training = dp_node_int(spec->node, "training_mode", 0) != 0;
  a.momentum = dp_node_float(spec->node, "momentum", 0.9);
  a.x = in[0];
  a.scale = in[1];
  a.bias = in[2];
  a.mean = in[3];
  a.variance = in[4];
  a.other = operand(spec, in, DP_CUDA_BATCH_OTHER);
  a.y = out[0];
  a.running_mean = result(spec, out, 1);
  a.running_variance = result(spec, out, 2);
  a.saved_mean = result(spec, out, 3);
  a.saved_invstd = result(spec, out, 4);
  return dp_cuda_batch_launch(state, queue, &a, a.training);
}

const dp_kernel dp_kernel_cuda_BatchNormalization = {
    .name = "cuda.device.BatchNormalization",
    .op = "BatchNormalization",
    .domain = "",
    BATCH(prepare_forward, enqueue_forward),
};

// Results 3 and 4, mean and variance of the group with the first sample, are 0 on devices without that group.
static dp_status enqueue_grouped(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  const dp_sample_groups groups = dp_sample_groups_of(spec, &spec->outputs[1].local);
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  for (int i = 3; i < 5; i++)
    if (dp_has_out(spec, i)) DP_TRY(dp_cuda_batch_clear(state, queue, out[i], e.channels));
  for (int64_t g = groups.lo; g < groups.hi; g++) {
    int64_t first;
    dp_batch_arguments a = dp_cuda_batch_arguments(spec, dp_sample_groups_rows(&groups, g, &first), scratch);
    const int64_t skipped = first * e.channels * e.inner, row = (g - groups.lo) * e.channels;
    a.training = 1;
    a.x = at(in[0], skipped, spec, 0);
    a.scale = in[1];
    a.bias = in[2];
    a.other = at(operand(spec, in, DP_CUDA_BATCH_OTHER), skipped, spec, 0);
    a.y = at(out[0], skipped, spec, 0);
    a.saved_mean = at(out[1], row, spec, 1);
    a.saved_invstd = at(out[2], row, spec, 1);
    if (a.samples && first + groups.first == 0) {
      a.first_mean = result(spec, out, 3);
      a.first_variance = result(spec, out, 4);
    }
    DP_TRY(dp_cuda_batch_launch(state, queue, &a, true));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_dp_GroupedBatchNormalization = {
    .name = "cuda.device.dp.GroupedBatchNormalization",
    .op = "GroupedBatchNormalization",
    .domain = "dp",
    BATCH(prepare_forward, enqueue_grouped),
};

// ---- gradient -------------------------------------------------------------------------------------------------------

static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_batch_sources plain = {dp_cuda_source_batch_grad_sums, NULL, dp_cuda_source_batch_grad_apply};
  const dp_cuda_batch_sources nhwc = {dp_cuda_source_batch_rows_grad_sums, dp_cuda_source_batch_rows_grad_join,
                                      dp_cuda_source_batch_rows_grad_apply};
  return dp_cuda_batch_prepare(spec, &plain, &nhwc, state);
}

static dp_status differentiate(const dp_kernel_spec *spec, const void *state, const dp_sample_groups *groups,
                               dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  for (int i = 1; i < 3 && groups->lo == groups->hi; i++)  // no group is here
    if (dp_has_out(spec, i)) DP_TRY(dp_cuda_batch_clear(state, queue, out[i], e.channels));
  for (int64_t g = groups->lo; g < groups->hi; g++) {
    int64_t first;
    dp_batch_arguments a = dp_cuda_batch_arguments(spec, dp_sample_groups_rows(groups, g, &first), scratch);
    const int64_t skipped = first * e.channels * e.inner, row = (g - groups->lo) * e.channels;
    a.x = at(in[0], skipped, spec, 0);
    a.scale = in[1];
    a.given_mean = at(in[2], row, spec, 1);
    a.given_invstd = at(in[3], row, spec, 1);
    a.dy = at(in[4], skipped, spec, 0);
    a.other = at(operand(spec, in, DP_CUDA_BATCH_OTHER), skipped, spec, 0);
    a.z = at(operand(spec, in, DP_CUDA_BATCH_Z), skipped, spec, 0);
    a.given = at(result(spec, out, DP_CUDA_BATCH_GIVEN), skipped, spec, 0);
    a.dx = at(result(spec, out, 0), skipped, spec, 0);
    a.dscale = result(spec, out, 1);
    a.dbias = result(spec, out, 2);
    a.first_group = g == groups->lo;
    a.last_group = g == groups->hi - 1;
    DP_TRY(dp_cuda_batch_launch(state, queue, &a, true));
  }
  return DP_OK;
}

static dp_status enqueue_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                  void *const *out, void *scratch) {
  const dp_sample_groups groups = dp_sample_groups_whole(&spec->inputs[0].local);
  return differentiate(spec, state, &groups, queue, in, out, scratch);
}

const dp_kernel dp_kernel_cuda_dp_BatchNormalizationGrad = {
    .name = "cuda.device.dp.BatchNormalizationGrad",
    .op = "BatchNormalizationGrad",
    .domain = "dp",
    BATCH(prepare_gradient, enqueue_gradient),
};

static dp_status enqueue_relu_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                       void *const *out, void *scratch) {
  dp_batch_arguments a = dp_cuda_batch_arguments(spec, spec->inputs[0].local.extents[0], scratch);
  a.x = in[0];
  a.scale = in[1];
  a.bias = in[2];
  a.given_mean = in[3];
  a.given_invstd = in[4];
  a.dy = in[5];
  a.dx = out[0];
  a.dscale = result(spec, out, 1);
  a.dbias = result(spec, out, 2);
  a.y = result(spec, out, 3);
  a.first_group = a.last_group = 1;
  return dp_cuda_batch_launch(state, queue, &a, true);
}

const dp_kernel dp_kernel_cuda_dp_BatchNormalizationReluGrad = {
    .name = "cuda.device.dp.BatchNormalizationReluGrad",
    .op = "BatchNormalizationReluGrad",
    .domain = "dp",
    BATCH(prepare_gradient, enqueue_relu_gradient),
};

static dp_status enqueue_grouped_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue,
                                          const void *const *in, void *const *out, void *scratch) {
  const dp_sample_groups groups = dp_sample_groups_of(spec, &spec->inputs[2].local);
  return differentiate(spec, state, &groups, queue, in, out, scratch);
}

const dp_kernel dp_kernel_cuda_dp_GroupedBatchNormalizationGrad = {
    .name = "cuda.device.dp.GroupedBatchNormalizationGrad",
    .op = "GroupedBatchNormalizationGrad",
    .domain = "dp",
    BATCH(prepare_gradient, enqueue_grouped_gradient),
};
