// ArgMax and ArgMin: a warp for each result of a short row, a block for that of a longer one, or for 32 of columns.
// Where there are few long rows, several blocks share each, and a second launch chooses among what they found.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/arg.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/shares.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

typedef struct {
  dp_arg_arguments arguments;  // of the first launch, but for the addresses
  int64_t blocks;              // for each share
  int threads;
  int width;  // elements that a thread of a warp reads at once; 0: a result has no warp
  const dp_cuda_function *function;
} arg_state;

enum { MOST_OF_WARP = 4096 };  // elements of a row

static arg_state divide(const dp_kernel_spec *spec) {
  const int rank = dp_in_rank(spec, 0), axis = dp_axis(dp_node_int(spec->node, "axis", 0), rank);
  const int64_t *extents = dp_in_extents(spec, 0), length = extents[axis];
  const int64_t inner = dp_product(extents, axis + 1, rank), results = dp_product(extents, 0, axis) * inner;
  const bool short_rows = inner == 1 && length > 0 && length <= MOST_OF_WARP;
  const int64_t each = short_rows ? DP_ARG_ROWS : inner > 1 ? DP_ARG_COLUMNS : 1, blocks = (results + each - 1) / each;
  return (arg_state){.arguments = {.results = results,
                                   .length = length,
                                   .inner = inner,
                                   .n = length,
                                   .shares = dp_cuda_row_shares(blocks, length)},
                     .blocks = blocks,
                     .threads = each > 1 ? DP_BLOCK_MOST : dp_cuda_row_threads(length),
                     .width = short_rows ? DP_VECTOR_BYTES / (int)dp_type_bytes(spec->inputs[0].dtype) : 0};
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const arg_state s = divide(spec);
  return dp_cuda_row_parts(s.arguments.length, (s.arguments.inner > 1 ? DP_ARG_COLUMNS : 1) * sizeof(long long));
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const bool largest = !strcmp(spec->op->name, "ArgMax"), last = dp_node_int(spec->node, "select_last_index", 0) != 0;
  arg_state s = divide(spec);
  const dp_dtype dtype = spec->inputs[0].dtype;
  char defines[512];
  snprintf(defines, sizeof defines,
           "%s#define BETTER(a, b) ((a) %c (b))\n#define IS_NAN(x) %s\n#define LAST %d\n#define COLUMNS %d\n"
           "#define WIDTH %d\n",
           dp_cuda_type_of(dtype)->defines, largest ? '>' : '<', dp_type_is_float(dtype) ? "((x) != (x))" : "false",
           last, s.arguments.inner > 1, s.width);
  const char *source = s.width ? dp_cuda_source_arg_rows : dp_cuda_source_arg;
  DP_TRY(dp_cuda_function_add(spec->op->name, defines, source, &s.function));
  arg_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec;
  const arg_state *s = state;
  dp_arg_arguments a = s->arguments;
  a.aligned = (uintptr_t)in[0] % DP_VECTOR_BYTES == 0;
  a.x = in[0];
  a.y = a.shares > 1 ? scratch : out[0];
  DP_TRY(dp_cuda_launch(queue, s->function, s->blocks * a.shares, s->threads, &a, sizeof a));
  if (a.shares == 1) return DP_OK;
  a.candidates = scratch;
  a.n = a.shares;
  a.shares = 1;
  a.y = out[0];
  return dp_cuda_launch(queue, s->function, s->blocks, s->threads, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_ArgMax = {
    .name = "cuda.device.ArgMax",
    .op = "ArgMax",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};

const dp_kernel dp_kernel_cuda_ArgMin = {
    .name = "cuda.device.ArgMin",
    .op = "ArgMin",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
