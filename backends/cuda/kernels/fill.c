// dp.Fill: every element is `value`. Size: the number of elements of the whole operand.
#include "backends/cuda/kernels/fill.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/device/fill.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

dp_status dp_cuda_fill_add(dp_dtype dtype, const dp_cuda_function **function) {
  const size_t bytes = dp_type_bytes(dtype);
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define WIDTH %d\n", dp_cuda_type_of_bytes(bytes),
           (int)DP_VECTOR_BYTES / (int)bytes);
  return dp_cuda_function_add("fill", defines, dp_cuda_source_fill, function);
}

dp_status dp_cuda_fill(dp_queue *queue, const dp_cuda_function *function, void *to, int64_t count, uint64_t element) {
  enum { MOST_BLOCKS = 8192, LEAST_WIDTH = DP_VECTOR_BYTES / 8 };  // more blocks than a GPU holds gain nothing
  const dp_fill_arguments a = {count, element, (uintptr_t)to % DP_VECTOR_BYTES == 0, to};
  const int64_t blocks = dp_cuda_blocks((count + LEAST_WIDTH - 1) / LEAST_WIDTH);
  return dp_cuda_launch(queue, function, dp_min_i64(blocks, MOST_BLOCKS), DP_CUDA_THREADS, &a, sizeof a);
}

// The state of these kernels is the function alone, which is never freed.
static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_function *function;
  DP_TRY(dp_cuda_fill_add(spec->outputs[0].dtype, &function));
  *state = (void *)(uintptr_t)function;
  return DP_OK;
}

static dp_status enqueue_fill(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                              void *const *out, void *scratch) {
  (void)in, (void)scratch;
  uint8_t bytes[8] = {0};
  uint64_t element;
  dp_element_set(spec->outputs[0].dtype, bytes, dp_node_float(spec->node, "value", 0));
  memcpy(&element, bytes, sizeof element);
  return dp_cuda_fill(queue, state, out[0], dp_out_count(spec, 0), element);
}

const dp_kernel dp_kernel_cuda_dp_Fill = {
    .name = "cuda.device.dp.Fill",
    .op = "Fill",
    .domain = "dp",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue_fill,
};

static dp_status enqueue_size(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                              void *const *out, void *scratch) {
  (void)in, (void)scratch;
  return dp_cuda_fill(queue, state, out[0], 1, (uint64_t)dp_whole_count(&spec->inputs[0].local));
}

const dp_kernel dp_kernel_cuda_Size = {
    .name = "cuda.device.Size",
    .op = "Size",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue_size,
};
