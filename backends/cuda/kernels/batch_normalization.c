// BatchNormalization, its gradient, and the same for groups of samples. The statistics of a channel come from several
// blocks, as many as the extents ask for, and are joined by every block that uses them. A thread reads and writes as
// many neighbours at once as lie in a plane, up to 16 bytes; one by one, where an address is not aligned for that.
#include <stdio.h>
#include <stdlib.h>

#include "backends/base/batch_extents.h"
#include "backends/cuda/device/batch_normalization.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/types.h"

// Blocks of all channels together that keep a GPU busy, without being so many that joining takes time; elements that
// are worth one.
enum { SUMS_BLOCKS = 2048, APPLY_BLOCKS = 4096, SHARE = 2048 };

typedef struct {
  const dp_cuda_function *sums, *apply;
} functions;

typedef struct {
  functions vectors, elements;
  uint64_t vector_bytes;
  const dp_cuda_function *fill;
} batch_state;

static uint64_t partial_bytes(const dp_kernel_spec *spec) {
  const int64_t channels = dp_channels_of(&spec->inputs[0].local).channels;
  return (uint64_t)dp_max_i64(channels, SUMS_BLOCKS) * 3 * sizeof(double);
}

// Partial sums, then totals.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const int64_t channels = dp_channels_of(&spec->inputs[0].local).channels;
  return partial_bytes(spec) + (uint64_t)channels * 2 * sizeof(double);
}

static dp_status add_functions(const dp_kernel_spec *spec, int vector, const char *sums, const char *apply,
                               functions *made) {
  char name[64], defines[512];
  snprintf(name, sizeof name, "%s_sums", spec->op->name);
  snprintf(defines, sizeof defines, "%s%s#define VECTOR %d\n", dp_cuda_type_of(spec->inputs[0].dtype)->defines,
           dp_cuda_type_of(spec->inputs[1].dtype)->second, vector);
  DP_TRY(dp_cuda_function_add(name, defines, sums, &made->sums));
  return dp_cuda_function_add(spec->op->name, defines, apply, &made->apply);
}

// The neighbours that one instruction moves, of which planes have a multiple.
static int vector_of(const dp_kernel_spec *spec) {
  const int bytes = (int)dp_type_bytes(spec->inputs[0].dtype);
  int vector = DP_VECTOR_BYTES / bytes;
  while (dp_max_i64(1, dp_channels_of(&spec->inputs[0].local).inner) % vector) vector /= 2;
  return vector;
}

static dp_status prepare_for(const dp_kernel_spec *spec, const char *sums, const char *apply, void **state) {
  const int vector = vector_of(spec);
  batch_state s = {.vector_bytes = (uint64_t)vector * dp_type_bytes(spec->inputs[0].dtype)};
  DP_TRY(add_functions(spec, vector, sums, apply, &s.vectors));
  s.elements = s.vectors;
  if (vector > 1) DP_TRY(add_functions(spec, 1, sums, apply, &s.elements));
  DP_TRY(dp_cuda_fill_add(spec->inputs[1].dtype, &s.fill));
  batch_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

// How many blocks a channel of `each` elements gets, of `all`.
static int64_t blocks_of(int64_t all, int64_t channels, int64_t each) {
  return dp_max_i64(1, dp_min_i64(all / dp_max_i64(1, channels), each / SHARE));
}

// For `samples` samples; the addresses are added later.
static dp_batch_arguments arguments_of(const dp_kernel_spec *spec, int64_t samples, void *scratch) {
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  const int64_t each = samples * e.inner;
  return (dp_batch_arguments){.samples = e.inner ? samples : 0,
                              .channels = e.channels,
                              .inner = dp_max_i64(1, e.inner),
                              .splits = blocks_of(SUMS_BLOCKS, e.channels, each),
                              .parts = blocks_of(APPLY_BLOCKS, e.channels, each),
                              .partial = scratch,
                              .totals = (double *)((char *)scratch + partial_bytes(spec)),
                              .epsilon = dp_node_float(spec->node, "epsilon", 1e-5),
                              .unbiased = dp_node_int(spec->node, "unbiased", 0) != 0};
}

static const functions *functions_for(const batch_state *s, const dp_batch_arguments *a) {
  const uintptr_t all = (uintptr_t)a->x | (uintptr_t)a->y | (uintptr_t)a->dy | (uintptr_t)a->dx;
  return all % s->vector_bytes ? &s->elements : &s->vectors;
}

// A block has no more threads than elements.
static dp_status launch(const dp_cuda_function *function, dp_queue *queue, int64_t blocks,
                        const dp_batch_arguments *a) {
  const int threads = dp_cuda_row_threads(a->samples * a->inner / blocks);
  return dp_cuda_launch(queue, function, a->channels * blocks, threads, a, sizeof *a);
}

// operand: one that has the tensor's type.
static void *at(const void *tensor, int64_t elements, const dp_kernel_spec *spec, int operand) {
  return tensor ? (char *)(uintptr_t)tensor + elements * (int64_t)dp_type_bytes(spec->inputs[operand].dtype) : NULL;
}

static void *result(const dp_kernel_spec *spec, void *const *out, int i) { return dp_has_out(spec, i) ? out[i] : NULL; }

// ---- forward --------------------------------------------------------------------------------------------------------

static dp_status prepare_forward(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, dp_cuda_source_batch_statistics, dp_cuda_source_batch_apply, state);
}

static dp_status normalize(const batch_state *s, dp_queue *queue, const dp_batch_arguments *a) {
  const functions *f = functions_for(s, a);
  if (a->training) DP_TRY(launch(f->sums, queue, a->splits, a));
  return launch(f->apply, queue, a->parts, a);
}

static dp_status enqueue_forward(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  dp_batch_arguments a = arguments_of(spec, spec->inputs[0].local.extents[0], scratch);
  a.training = dp_node_int(spec->node, "training_mode", 0) != 0;
  a.momentum = dp_node_float(spec->node, "momentum", 0.9);
  a.x = in[0];
  a.scale = in[1];
  a.bias = in[2];
  a.mean = in[3];
  a.variance = in[4];
  a.y = out[0];
  a.running_mean = result(spec, out, 1);
  a.running_variance = result(spec, out, 2);
  a.saved_mean = result(spec, out, 3);
  a.saved_invstd = result(spec, out, 4);
  return normalize(state, queue, &a);
}

const dp_kernel dp_kernel_cuda_BatchNormalization = {
    .name = "cuda.device.BatchNormalization",
    .op = "BatchNormalization",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_forward,
    .release = free,
    .enqueue = enqueue_forward,
};

// Results 3 and 4, mean and variance of the group with the first sample, are 0 on devices without that group.
static dp_status enqueue_grouped(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  const batch_state *s = state;
  const dp_sample_groups groups = dp_sample_groups_of(spec, &spec->outputs[1].local);
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  for (int i = 3; i < 5; i++)
    if (dp_has_out(spec, i)) DP_TRY(dp_cuda_fill(queue, s->fill, out[i], e.channels, 0));
  for (int64_t g = groups.lo; g < groups.hi; g++) {
    int64_t first;
    dp_batch_arguments a = arguments_of(spec, dp_sample_groups_rows(&groups, g, &first), scratch);
    const int64_t skipped = first * e.channels * e.inner, row = (g - groups.lo) * e.channels;
    a.training = 1;
    a.x = at(in[0], skipped, spec, 0);
    a.scale = in[1];
    a.bias = in[2];
    a.y = at(out[0], skipped, spec, 0);
    a.saved_mean = at(out[1], row, spec, 1);
    a.saved_invstd = at(out[2], row, spec, 1);
    if (a.samples && first + groups.first == 0) {
      a.first_mean = result(spec, out, 3);
      a.first_variance = result(spec, out, 4);
    }
    DP_TRY(normalize(s, queue, &a));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_dp_GroupedBatchNormalization = {
    .name = "cuda.device.dp.GroupedBatchNormalization",
    .op = "GroupedBatchNormalization",
    .domain = "dp",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_forward,
    .release = free,
    .enqueue = enqueue_grouped,
};

// ---- gradient -------------------------------------------------------------------------------------------------------

static dp_status prepare_gradient(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, dp_cuda_source_batch_grad_sums, dp_cuda_source_batch_grad_apply, state);
}

static dp_status differentiate(const dp_kernel_spec *spec, const batch_state *s, const dp_sample_groups *groups,
                               dp_queue *queue, const void *const *in, void *const *out, void *scratch) {
  const dp_channels e = dp_channels_of(&spec->inputs[0].local);
  for (int i = 1; i < 3 && groups->lo == groups->hi; i++)  // no group is here
    if (dp_has_out(spec, i)) DP_TRY(dp_cuda_fill(queue, s->fill, out[i], e.channels, 0));
  for (int64_t g = groups->lo; g < groups->hi; g++) {
    int64_t first;
    dp_batch_arguments a = arguments_of(spec, dp_sample_groups_rows(groups, g, &first), scratch);
    const int64_t skipped = first * e.channels * e.inner, row = (g - groups->lo) * e.channels;
    a.x = at(in[0], skipped, spec, 0);
    a.scale = in[1];
    a.given_mean = at(in[2], row, spec, 1);
    a.given_invstd = at(in[3], row, spec, 1);
    a.dy = at(in[4], skipped, spec, 0);
    a.dx = at(result(spec, out, 0), skipped, spec, 0);
    a.dscale = result(spec, out, 1);
    a.dbias = result(spec, out, 2);
    a.first_group = g == groups->lo;
    a.last_group = g == groups->hi - 1;
    const functions *f = functions_for(s, &a);
    DP_TRY(launch(f->sums, queue, a.splits, &a));
    DP_TRY(launch(f->apply, queue, a.dx ? a.parts : 1, &a));
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
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_gradient,
    .release = free,
    .enqueue = enqueue_gradient,
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
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare_gradient,
    .release = free,
    .enqueue = enqueue_grouped_gradient,
};
