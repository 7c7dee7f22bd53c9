// Softmax and LogSoftmax along `axis`: in registers where rows are contiguous and fit, else a block for each row. Few
// long rows are shared by blocks, whose first launch sums exponentials.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/exponential_rows.h"
#include "backends/cuda/kernels/exponentials.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

typedef struct {
  int64_t outer, length, inner, shares;
  bool in_registers;
  const dp_cuda_function *parts, *rows;  // parts: NULL where no row is shared
} softmax_state;

static bool is_logarithm(const dp_kernel_spec *spec) { return !strcmp(spec->op->name, "LogSoftmax"); }

// Whether every step is rounded: each needs the one before for the whole row, so that a block has all of it.
static bool has_steps(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT16 && !is_logarithm(spec); }

static softmax_state divide(const dp_kernel_spec *spec) {
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_in_extents(spec, 0);
  softmax_state s = {
      .outer = dp_product(extents, 0, axis), .length = extents[axis], .inner = dp_product(extents, axis + 1, rank)};
  s.in_registers =
      !has_steps(spec) && s.inner == 1 && dp_cuda_exponential_rows_fit(spec->inputs[0].dtype, s.outer, s.length);
  s.shares = s.in_registers || has_steps(spec) ? 1 : dp_cuda_row_shares(s.outer * s.inner, s.length);
  return s;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  return has_steps(spec) ? 0 : dp_cuda_row_parts(divide(spec).length, sizeof(dp_exponentials));
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  softmax_state s = divide(spec);
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define LOGARITHM %d\n#define STEPS %d\n", dp_cuda_type_of(dtype)->defines,
           is_logarithm(spec), has_steps(spec));
  if (s.in_registers)
    DP_TRY(dp_cuda_exponential_rows_add(spec->op->name, dtype, s.length,
                                        is_logarithm(spec) ? DP_ROWS_LOG_SOFTMAX : DP_ROWS_SOFTMAX, "", &s.rows));
  else
    DP_TRY(dp_cuda_function_add(spec->op->name, defines, dp_cuda_source_softmax, &s.rows));
  if (s.shares > 1) DP_TRY(dp_cuda_exponentials_add(dtype, &s.parts));
  softmax_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  const softmax_state *s = state;
  if (s->in_registers) {
    dp_exponential_rows_arguments rows = {.rows = s->outer, .length = s->length, .x = in[0], .y = out[0]};
    return dp_cuda_exponential_rows(queue, s->rows, &rows);
  }
  const dp_softmax_arguments a = {s->length, s->inner, s->shares, s->parts ? scratch : NULL, in[0], out[0]};
  const int64_t blocks = s->outer * s->inner * s->shares;
  if (!s->length) return DP_OK;
  if (s->parts) DP_TRY(dp_cuda_exponentials(queue, s->parts, s->outer, s->length, s->inner, s->shares, in[0], scratch));
  return dp_cuda_launch(queue, s->rows, blocks, dp_cuda_row_threads(s->length), &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Softmax = {
    .name = "cuda.device.Softmax",
    .op = "Softmax",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};

const dp_kernel dp_kernel_cuda_LogSoftmax = {
    .name = "cuda.device.LogSoftmax",
    .op = "LogSoftmax",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .in_place = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
