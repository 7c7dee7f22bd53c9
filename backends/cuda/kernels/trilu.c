// Trilu: the upper or lower triangle of the last two dims, zeros elsewhere; positions are in the whole tensor.
#include <stdio.h>

#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/trilu.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// How many neighbours of a row a thread moves at once.
static int width_of(const dp_kernel_spec *spec) {
  const dp_local *x = &spec->inputs[0].local;
  const int width = (int)(DP_VECTOR_BYTES / dp_type_bytes(spec->inputs[0].dtype));
  return dp_cuda_place_of(x).rank || x->extents[x->rank - 1] % width ? 1 : width;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define UPPER %d\n#define WIDTH %d\n",
           dp_cuda_type_of_bytes(dp_type_bytes(spec->inputs[0].dtype)), dp_node_int(spec->node, "upper", 1) != 0,
           width_of(spec));
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_trilu, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_local *x = &spec->inputs[0].local;
  const int64_t rows = x->whole[x->rank - 2], columns = x->whole[x->rank - 1];
  // A diagonal beyond the matrix is equivalent to one at its edge.
  const int64_t k = dp_max_i64(-rows - columns, dp_min_i64(rows + columns, dp_node_int(spec->node, "k", 0)));
  const dp_trilu_arguments a = {.place = dp_cuda_place_of(x),
                                .aligned = ((uintptr_t)in[0] | (uintptr_t)out[0]) % DP_VECTOR_BYTES == 0,
                                .count = dp_local_count(x),
                                .rank = x->rank,
                                .rows = x->extents[x->rank - 2],
                                .columns = x->extents[x->rank - 1],
                                .diagonal = k,
                                .x = in[0],
                                .y = out[0]};
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count / width_of(spec)), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Trilu = {
    .name = "cuda.device.Trilu",
    .op = "Trilu",
    .domain = "",
    .types = DP_STORED,
    .in_place = true,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
