// Range: integers by their position in the whole tensor.
#include <stdio.h>

#include "backends/cuda/device/range.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

// How many neighbours a thread writes at once.
static int width_of(const dp_kernel_spec *spec) {
  return (int)(DP_VECTOR_BYTES / dp_type_bytes(spec->outputs[0].dtype));
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype dtype = spec->outputs[0].dtype;
  const bool is_half = dtype == DP_FLOAT16 || dtype == DP_BFLOAT16;
  char defines[256];
  snprintf(defines, sizeof defines, "%s#define WIDTH %d\n#define STORE(number) %s\n", dp_cuda_type_of(dtype)->defines,
           width_of(spec), is_half ? "PUT(dp_signed_to_odd(number))" : "PUT(number)");
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_range, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)in, (void)scratch;
  const dp_range_arguments a = {.place = dp_cuda_place_of(&spec->outputs[0].local),
                                .count = dp_out_count(spec, 0),
                                .aligned = (uintptr_t)out[0] % DP_VECTOR_BYTES == 0,
                                .start = (uint64_t)dp_node_int(spec->node, "start", 0),
                                .delta = (uint64_t)dp_node_int(spec->node, "delta", 1),
                                .y = out[0]};
  const int64_t vectors = (a.count + width_of(spec) - 1) / width_of(spec);
  return dp_cuda_launch(queue, state, dp_cuda_blocks(vectors), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Range = {
    .name = "cuda.device.Range",
    .op = "Range",
    .domain = "",
    .types = DP_CUDA_COMPUTED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
