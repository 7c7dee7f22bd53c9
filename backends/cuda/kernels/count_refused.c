// dp.CountRefused: how much data a node would refuse, by one block; where there is much, by several blocks, whose
// counts a second launch adds.
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/device/count_refused.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/graph/refusal.h"
#include "ir/kernel/extents.h"

static bool match(const dp_kernel_spec *spec) { return dp_cuda_is_int64(spec, 1); }

// Elements that are worth a block, and the most blocks, which keep a GPU busy.
enum { SHARE = 16384, MOST_SHARES = 2048 };

static int64_t shares_of(const dp_kernel_spec *spec) {
  return dp_max_i64(1, dp_min_i64(MOST_SHARES, (dp_in_count(spec, 0) + SHARE - 1) / SHARE));
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const int64_t shares = shares_of(spec);
  return shares > 1 ? (uint64_t)shares * sizeof(long long) : 0;
}

typedef struct {
  const dp_cuda_function *count, *join;  // join: NULL where one block counts
} count_state;

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  count_state s = {.join = NULL};
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define WIDTH %d\n", dp_cuda_type_of(dtype)->stored,
           (int)DP_VECTOR_BYTES / (int)dp_type_bytes(dtype));
  DP_TRY(dp_cuda_function_add("count_refused", defines, dp_cuda_source_count_refused, &s.count));
  if (shares_of(spec) > 1)
    DP_TRY(dp_cuda_function_add("count_refused_join", "", dp_cuda_source_count_refused_join, &s.join));
  count_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const count_state *s = state;
  const dp_refusal refusal = dp_refusal_counted(spec->node);
  const dp_count_refused_arguments a = {.count = dp_in_count(spec, 0),
                                        .aligned = (uintptr_t)in[0] % DP_VECTOR_BYTES == 0,
                                        .bounded = refusal.bounded,
                                        .negative = refusal.negative,
                                        .has_other = refusal.has_other,
                                        .once = refusal.once,
                                        .scale = refusal.limit.scale,
                                        .offset = refusal.limit.offset,
                                        .other = refusal.other,
                                        .n = dp_has_in(spec, 1) ? in[1] : NULL,
                                        .reporter = {dp_cuda_queue_fault(queue), dp_cuda_queue_instruction(queue)},
                                        .x = in[0],
                                        .shares = shares_of(spec),
                                        .parts = s->join ? scratch : NULL,
                                        .y = out[0]};
  DP_TRY(dp_cuda_launch(queue, s->count, a.shares, dp_cuda_row_threads(a.count), &a, sizeof a));
  return s->join ? dp_cuda_launch(queue, s->join, 1, DP_BLOCK_MOST, &a, sizeof a) : DP_OK;
}

const dp_kernel dp_kernel_cuda_dp_CountRefused = {
    .name = "cuda.device.dp.CountRefused",
    .op = "CountRefused",
    .domain = "dp",
    .types = DP_INTS,
    .channels_last = true,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
