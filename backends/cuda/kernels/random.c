// dp.RandomUniform, dp.RandomNormal and dp.Dropout: random numbers by position in the whole tensor.
#include <math.h>
#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status launch(dp_queue *queue, const void *state, const dp_random_arguments *a) {
  return dp_cuda_launch(queue, state, dp_cuda_blocks((a->count + DP_RANDOM_EACH - 1) / DP_RANDOM_EACH), DP_CUDA_THREADS,
                        a, sizeof *a);
}

static long long is_aligned(const dp_kernel_spec *spec, const void *x, const void *y) {
  const size_t bytes = DP_RANDOM_EACH * dp_type_bytes(spec->outputs[0].dtype);
  return ((uintptr_t)x | (uintptr_t)y) % bytes == 0;
}

// The state of these kernels is the function alone, which is never freed.
static dp_status prepare_for(const dp_kernel_spec *spec, const char *name, bool reads, const char *made, void **state) {
  char defines[512];
  snprintf(defines, sizeof defines, "%s#define READS %d\n#define MADE(a, word, lane, x) PUT(%s)\n",
           dp_cuda_type_of(spec->outputs[0].dtype)->defines, reads, made);
  return dp_cuda_function_state(name, defines, dp_cuda_source_random, state);
}

static bool is_float(const dp_kernel_spec *spec) { return (DP_BIT(spec->outputs[0].dtype) & DP_CUDA_FLOATS) != 0; }

// ---- values ---------------------------------------------------------------------------------------------------------

static bool match_values(const dp_kernel_spec *spec) {
  return is_float(spec) && dp_cuda_is_int64(spec, 0) && dp_cuda_is_int64(spec, 1);
}

static dp_status enqueue_values(const dp_kernel_spec *spec, const void *state, dp_queue *queue, const void *const *in,
                                void *const *out, double shift, double scale) {
  const dp_place place = dp_cuda_place_in(spec->outputs[0].layout, &spec->outputs[0].local);
  const dp_random_arguments a = {
      .count = dp_out_count(spec, 0),
      .aligned = is_aligned(spec, NULL, out[0]),
      .draw = dp_cuda_draw_of(spec, place, in[0], dp_has_in(spec, 1) ? in[1] : NULL),
      .shift = shift,
      .scale = scale,
      .y = out[0],
  };
  return launch(queue, state, &a);
}

static dp_status prepare_uniform(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, "RandomUniform", false,
                     "dp_times_plus((a)->scale, dp_draw_uniform((word)[lane]), (a)->shift)", state);
}

static dp_status enqueue_uniform(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  (void)scratch;
  const double low = dp_node_float(spec->node, "low", 0), high = dp_node_float(spec->node, "high", 1);
  return enqueue_values(spec, state, queue, in, out, low, high - low);
}

const dp_kernel dp_kernel_cuda_dp_RandomUniform = {
    .name = "cuda.device.dp.RandomUniform",
    .op = "RandomUniform",
    .domain = "dp",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .match = match_values,
    .prepare = prepare_uniform,
    .enqueue = enqueue_uniform,
};

static dp_status prepare_normal(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, "RandomNormal", false, "dp_times_plus((a)->scale, dp_draw_normal(word, lane), (a)->shift)",
                     state);
}

static dp_status enqueue_normal(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                void *const *out, void *scratch) {
  (void)scratch;
  const double mean = dp_node_float(spec->node, "mean", 0), scale = dp_node_float(spec->node, "scale", 1);
  return enqueue_values(spec, state, queue, in, out, mean, scale);
}

const dp_kernel dp_kernel_cuda_dp_RandomNormal = {
    .name = "cuda.device.dp.RandomNormal",
    .op = "RandomNormal",
    .domain = "dp",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .match = match_values,
    .prepare = prepare_normal,
    .enqueue = enqueue_normal,
};

// ---- dropout --------------------------------------------------------------------------------------------------------

static bool match_dropout(const dp_kernel_spec *spec) {
  return is_float(spec) && dp_cuda_is_int64(spec, 1) && dp_cuda_is_int64(spec, 2);
}

static dp_status prepare_dropout(const dp_kernel_spec *spec, void **state) {
  return prepare_for(spec, "Dropout", true, "(word)[lane] >> 8 >= (a)->least ? GET(x) * (W)(a)->kept : (W)0", state);
}

static dp_status enqueue_dropout(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                 void *const *out, void *scratch) {
  (void)scratch;
  const double ratio = dp_node_float(spec->node, "ratio", 0.5);
  const dp_random_arguments a = {
      .count = dp_out_count(spec, 0),
      .aligned = is_aligned(spec, in[0], out[0]),
      .draw = dp_cuda_draw_of(spec, dp_cuda_place_of(&spec->outputs[0].local), in[1], in[2]),
      .kept = 1 / (1 - ratio),
      .least = (unsigned)ceil(ratio * 0x1p24),  // numbers are multiples of 2^-24
      .x = in[0],
      .y = out[0],
  };
  return launch(queue, state, &a);
}

const dp_kernel dp_kernel_cuda_dp_Dropout = {
    .name = "cuda.device.dp.Dropout",
    .op = "Dropout",
    .domain = "dp",
    .types = DP_STORED,
    .shares_state = true,
    .in_place = true,
    .match = match_dropout,
    .prepare = prepare_dropout,
    .enqueue = enqueue_dropout,
};
