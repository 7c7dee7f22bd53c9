// OneHot: values[1] at the index along `axis`, values[0] elsewhere. Any type, by its bytes.
#include <stdio.h>

#include "backends/cuda/device/one_hot.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static bool match(const dp_kernel_spec *spec) { return (DP_BIT(spec->inputs[0].dtype) & DP_INTS) != 0; }

// How many neighbours a thread writes at once.
static int width_of(const dp_kernel_spec *spec) { return DP_VECTOR_BYTES / (int)dp_type_bytes(spec->outputs[0].dtype); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype index = spec->inputs[0].dtype;
  char defines[160];
  snprintf(defines, sizeof defines,
           "#define T %s\n#define I %s\n#define SIGNED %d\n#define INDEX %s\n#define WIDTH %d\n",
           dp_cuda_type_of_bytes(dp_type_bytes(spec->inputs[2].dtype)), dp_cuda_type_of(index)->stored,
           (DP_BIT(index) & DP_SIGNED) != 0,
           dp_out_count(spec, 0) <= UINT32_MAX - DP_VECTOR_BYTES ? "dp_u32" : "dp_u64", width_of(spec));
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_one_hot, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const int rank = spec->outputs[0].local.rank, axis = dp_axis(dp_node_int(spec->node, "axis", -1), rank);
  const int64_t *extents = dp_out_extents(spec, 0);
  const dp_one_hot_arguments a = {
      .count = dp_out_count(spec, 0),
      .depth = extents[axis],
      .inner = dp_product(extents, axis + 1, rank),
      .aligned = (uintptr_t)out[0] % DP_VECTOR_BYTES == 0,
      .indices = in[0],
      .values = in[2],
      .y = out[0],
  };
  const int64_t vectors = (a.count + width_of(spec) - 1) / width_of(spec);
  return dp_cuda_launch(queue, state, dp_cuda_blocks(vectors), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_OneHot = {
    .name = "cuda.device.OneHot",
    .op = "OneHot",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .enqueue = enqueue,
};
