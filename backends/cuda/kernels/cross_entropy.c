// SoftmaxCrossEntropyLoss and its gradient. The divisor of a mean over labels with weights, or with one that is
// ignored, is summed on the device first; so are exponentials where blocks share the scores of a label. Scores of a
// label that are contiguous and fit are kept in registers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/cross_entropy.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/exponential_rows.h"
#include "backends/cuda/kernels/exponentials.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

enum { LOSS_WEIGHTS = 2, GRADIENT_WEIGHTS = 3 };  // operands

typedef struct {
  const dp_cuda_function *weights, *parts, *rows, *sum;  // NULL: not needed
  bool in_registers;
} loss_state;

static bool is_mean(const dp_kernel_spec *spec) {
  return !strcmp(dp_node_string(spec->node, "reduction", "mean"), "mean");
}

static bool is_per_label(const dp_kernel_spec *spec) {
  return !strcmp(dp_node_string(spec->node, "reduction", "mean"), "none");
}

// Whether the divisor depends on the labels.
static bool sums_weights(const dp_kernel_spec *spec, int weights) {
  return is_mean(spec) && (dp_has_in(spec, weights) || dp_node_attr(spec->node, "ignore_index"));
}

static bool match(const dp_kernel_spec *spec) {
  return (DP_BIT(spec->inputs[0].dtype) & DP_CUDA_FLOATS) &&
         (DP_BIT(spec->inputs[1].dtype) & (DP_BIT(DP_INT32) | DP_BIT(DP_INT64)));
}

static bool in_registers(const dp_kernel_spec *spec) {
  const dp_local *scores = &spec->inputs[0].local;
  return dp_product(scores->extents, 2, scores->rank) == 1 &&
         dp_cuda_exponential_rows_fit(spec->inputs[0].dtype, scores->extents[0], scores->extents[1]);
}

static int64_t shares_of(const dp_kernel_spec *spec) {
  return in_registers(spec) ? 1 : dp_cuda_row_shares(dp_in_count(spec, 1), dp_in_extents(spec, 0)[1]);
}

// The sum of weights, then the parts of exponentials, then the losses.
static uint64_t losses_at(const dp_kernel_spec *spec) {
  return DP_CUDA_ALIGNMENT + dp_cuda_row_parts(dp_in_extents(spec, 0)[1], sizeof(dp_exponentials));
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return losses_at(spec) + (uint64_t)dp_in_count(spec, 1) * sizeof(double);
}

static dp_cross_entropy_arguments arguments_of(const dp_kernel_spec *spec, int weights, dp_queue *queue,
                                               const void *const *in, void *scratch) {
  const dp_local *scores = &spec->inputs[0].local, *labels = &spec->inputs[1].local;
  dp_cross_entropy_arguments a = {
      .labels_count = dp_local_count(labels),
      .classes = scores->extents[1],
      .inner = dp_product(scores->extents, 2, scores->rank),
      .place = dp_cuda_place_of(labels),
      .reporter = {dp_cuda_queue_fault(queue), dp_cuda_queue_instruction(queue)},
      .scores = in[0],
      .labels = in[1],
      .weights = dp_has_in(spec, weights) ? in[weights] : NULL,
      .ignored = dp_node_int(spec->node, "ignore_index", 0),
      .has_ignored = dp_node_attr(spec->node, "ignore_index") != NULL,
      .per_label = is_per_label(spec),
      .divisor = 1,
      .losses = (double *)((char *)scratch + losses_at(spec)),
      .sums = scratch,
      .shares = shares_of(spec),
  };
  if (a.shares > 1) a.parts = (dp_exponentials *)((char *)scratch + DP_CUDA_ALIGNMENT);
  if (sums_weights(spec, weights))
    a.divisor = 0;
  else if (is_mean(spec))  // over the whole batch; only the plain mean can know its count from a shard
    a.divisor = (double)dp_max_i64(1, dp_whole_count(labels));
  return a;
}

static dp_status prepare_for(const dp_kernel_spec *spec, int weights, const char *rows, loss_state **made) {
  char label[64], defines[256];
  snprintf(label, sizeof label, "#define LABEL %s\n", dp_cuda_type_of(spec->inputs[1].dtype)->stored);
  snprintf(defines, sizeof defines, "%s%s", dp_cuda_type_of(spec->inputs[0].dtype)->defines, label);
  loss_state s = {.in_registers = in_registers(spec)};
  if (s.in_registers) {
    const int kind = weights == LOSS_WEIGHTS ? DP_ROWS_LOSS : DP_ROWS_LOSS_GRADIENT;
    DP_TRY(dp_cuda_exponential_rows_add(spec->op->name, spec->inputs[0].dtype, dp_in_extents(spec, 0)[1], kind, label,
                                        &s.rows));
  } else {
    DP_TRY(dp_cuda_function_add(spec->op->name, defines, rows, &s.rows));
  }
  if (shares_of(spec) > 1) DP_TRY(dp_cuda_exponentials_add(spec->inputs[0].dtype, &s.parts));
  if (sums_weights(spec, weights))
    DP_TRY(dp_cuda_function_add("label_weights", defines, dp_cuda_source_label_weights, &s.weights));
  if (weights == LOSS_WEIGHTS && !is_per_label(spec))
    DP_TRY(dp_cuda_function_add("loss_sum", defines, dp_cuda_source_loss_sum, &s.sum));
  *made = malloc(sizeof **made);
  if (!*made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  **made = s;
  return DP_OK;
}

// y: of as many elements as the scores; NULL: only the losses.
static dp_status launch_rows(const loss_state *s, dp_queue *queue, const dp_cross_entropy_arguments *a, void *y) {
  if (s->in_registers) {
    dp_exponential_rows_arguments rows = {
        .rows = a->labels_count, .length = a->classes, .x = a->scores, .y = y, .loss = *a};
    return dp_cuda_exponential_rows(queue, s->rows, &rows);
  }
  if (s->parts)
    DP_TRY(dp_cuda_exponentials(queue, s->parts, a->labels_count / a->inner, a->classes, a->inner, a->shares, a->scores,
                                a->parts));
  return dp_cuda_launch(queue, s->rows, a->labels_count * a->shares, dp_cuda_row_threads(a->classes), a, sizeof *a);
}

static dp_status launch(const loss_state *s, dp_queue *queue, const dp_cross_entropy_arguments *a, void *y) {
  if (s->weights) DP_TRY(dp_cuda_launch(queue, s->weights, 1, DP_BLOCK_MOST, a, sizeof *a));
  DP_TRY(launch_rows(s, queue, a, y));
  return s->sum ? dp_cuda_launch(queue, s->sum, 1, DP_BLOCK_MOST, a, sizeof *a) : DP_OK;
}

static dp_status prepare_loss(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, LOSS_WEIGHTS, dp_cuda_source_cross_entropy, (loss_state **)state);
}

static dp_status enqueue_loss(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                              void *const *out, void *scratch) {
  dp_cross_entropy_arguments a = arguments_of(spec, LOSS_WEIGHTS, queue, in, scratch);
  a.y = out[0];
  a.log_prob = dp_has_out(spec, 1) ? out[1] : NULL;
  return launch(state, queue, &a, a.log_prob);
}

const dp_kernel dp_kernel_cuda_SoftmaxCrossEntropyLoss = {
    .name = "cuda.device.SoftmaxCrossEntropyLoss",
    .op = "SoftmaxCrossEntropyLoss",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_loss,
    .release = free,
    .enqueue = enqueue_loss,
};

static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, GRADIENT_WEIGHTS, dp_cuda_source_cross_entropy_grad, (loss_state **)state);
}

static dp_status enqueue_gradient(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                  void *const *out, void *scratch) {
  dp_cross_entropy_arguments a = arguments_of(spec, GRADIENT_WEIGHTS, queue, in, scratch);
  a.dloss = in[2];
  a.y = out[0];
  return launch(state, queue, &a, a.y);
}

const dp_kernel dp_kernel_cuda_dp_SoftmaxCrossEntropyLossGrad = {
    .name = "cuda.device.dp.SoftmaxCrossEntropyLossGrad",
    .op = "SoftmaxCrossEntropyLossGrad",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_gradient,
    .release = free,
    .enqueue = enqueue_gradient,
};
