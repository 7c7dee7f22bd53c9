// Pad: adds elements before and after the dims of the operand. Any type, by its bytes.
#include "ir/ops/pad.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/device/pad.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_PAD_RANK == (int)DP_MAX_RANK, "the device pads as many dims as tensors have");
_Static_assert(DP_PAD_CONSTANT == 0 && DP_PAD_EDGE == 1 && DP_PAD_REFLECT == 2 && DP_PAD_WRAP == 3,
               "the modes as device/pad.cu numbers them");

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define INDEX %s\n",
           dp_cuda_type_of_bytes(dp_type_bytes(spec->inputs[0].dtype)),
           dp_out_count(spec, 0) <= UINT32_MAX ? "dp_u32" : "dp_u64");
  return dp_cuda_function_state("Pad", defines, dp_cuda_source_pad, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const dp_local *x = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  const dp_shape shape = {.rank = x->rank};
  dp_pad pad;
  DP_TRY(dp_pad_make(spec->node, &shape, &pad));
  dp_pad_arguments a = {.count = dp_local_count(y), .rank = x->rank, .mode = pad.mode, .x = in[0], .y = out[0]};
  for (int d = 0; d < x->rank; d++) {
    a.x_extents[d] = x->extents[d];
    a.y_extents[d] = y->extents[d];
    a.begin[d] = pad.begin[d];
  }
  uint8_t constant[8] = {0};
  dp_element_set(spec->inputs[0].dtype, constant, dp_node_float(spec->node, "constant_value", 0));
  memcpy(&a.constant, constant, sizeof a.constant);
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_Pad = {
    .name = "cuda.device.Pad",
    .op = "Pad",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
