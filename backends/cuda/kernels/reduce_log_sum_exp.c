// ReduceLogSumExp: the logarithm of the sum of e^x over the dims `axes`: in registers where rows are contiguous and
// fit, else a block for each result, or several blocks whose parts a second launch joins. See exponentials.h too.
#include <stdlib.h>

#include "backends/cuda/device/reduce_log_sum_exp.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/exponential_rows.h"
#include "backends/cuda/kernels/exponentials.h"
#include "backends/cuda/kernels/reduce_dims.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

dp_status dp_cuda_exponentials_add(dp_dtype dtype, const dp_cuda_function **function) {
  return dp_cuda_function_add("ReduceLogSumExp", dp_cuda_type_of(dtype)->defines, dp_cuda_source_reduce_log_sum_exp,
                              function);
}

dp_status dp_cuda_exponentials(dp_queue *queue, const dp_cuda_function *function, int64_t outer, int64_t length,
                               int64_t inner, int64_t shares, const void *x, dp_exponentials *parts) {
  const dp_log_sum_exp_arguments a = {
      .kept = {.rank = 2, .count = outer * inner, .extents = {outer, inner}, .strides = {length * inner, 1}},
      .reduced = {.rank = 1, .count = length, .extents = {length}, .strides = {inner}},
      .shares = shares,
      .parts = parts,
      .x = x};
  return dp_cuda_launch(queue, function, a.kept.count * shares, DP_BLOCK_MOST, &a, sizeof a);
}

typedef struct {
  dp_reduce_dims kept, reduced;
  int64_t shares;
  bool in_registers;
  const dp_cuda_function *sums, *join;  // join: NULL where no result is shared
} log_sum_exp_state;

// Whether what a result is made of is neighbours in memory, and results are in their order.
static bool has_rows(const dp_reduce_dims *kept, const dp_reduce_dims *reduced) {
  return reduced->rank == 1 && reduced->strides[0] == 1 &&
         (kept->count == 1 || (kept->rank == 1 && kept->strides[0] == reduced->count));
}

static dp_status divide(const dp_kernel_spec *spec, log_sum_exp_state *s) {
  bool reduced[DP_MAX_RANK];
  DP_TRY(dp_reduce_axes(spec->node, dp_in_rank(spec, 0), reduced));
  dp_cuda_reduce_dims(&spec->inputs[0].local, reduced, &s->kept, &s->reduced);
  s->in_registers = has_rows(&s->kept, &s->reduced) &&
                    dp_cuda_exponential_rows_fit(spec->inputs[0].dtype, s->kept.count, s->reduced.count);
  s->shares = s->in_registers ? 1 : dp_cuda_row_shares(s->kept.count, s->reduced.count);
  return DP_OK;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  log_sum_exp_state s;
  dp_status status = divide(spec, &s);
  dp_status_free(status);
  return status ? 0 : dp_cuda_row_parts(s.reduced.count, sizeof(dp_exponentials));
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  log_sum_exp_state s = {.join = NULL};
  const dp_dtype dtype = spec->inputs[0].dtype;
  DP_TRY(divide(spec, &s));
  if (s.in_registers)
    DP_TRY(dp_cuda_exponential_rows_add("ReduceLogSumExp", dtype, s.reduced.count, DP_ROWS_LOG_SUM, "", &s.sums));
  else
    DP_TRY(dp_cuda_exponentials_add(dtype, &s.sums));
  if (s.shares > 1)
    DP_TRY(dp_cuda_function_add("ReduceLogSumExp_join", dp_cuda_type_of(dtype)->defines,
                                dp_cuda_source_log_sum_exp_join, &s.join));
  log_sum_exp_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  const log_sum_exp_state *s = state;
  if (s->in_registers) {
    dp_exponential_rows_arguments rows = {.rows = s->kept.count, .length = s->reduced.count, .x = in[0], .y = out[0]};
    return dp_cuda_exponential_rows(queue, s->sums, &rows);
  }
  const dp_log_sum_exp_arguments a = {s->kept, s->reduced, s->shares, s->join ? scratch : NULL, in[0], out[0]};
  const int threads = dp_cuda_row_threads(a.reduced.count);
  DP_TRY(dp_cuda_launch(queue, s->sums, a.kept.count * a.shares, threads, &a, sizeof a));
  return s->join ? dp_cuda_launch(queue, s->join, a.kept.count, dp_cuda_row_threads(a.shares), &a, sizeof a) : DP_OK;
}

const dp_kernel dp_kernel_cuda_ReduceLogSumExp = {
    .name = "cuda.device.ReduceLogSumExp",
    .op = "ReduceLogSumExp",
    .domain = "",
    .types = DP_CUDA_FLOATS,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
