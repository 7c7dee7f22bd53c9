// BitCast: copies the bytes of operand 0; to bool, whether they are not 0.
#include <stdio.h>

#include "backends/cuda/device/bit_cast.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_dtype to = spec->outputs[0].dtype;
  char defines[96];
  snprintf(defines, sizeof defines, "#define T %s\n#define TO_BOOL %d\n", dp_cuda_type_of_bytes(dp_type_bytes(to)),
           to == DP_BOOL);
  return dp_cuda_function_state(spec->op->name, defines, dp_cuda_source_bit_cast, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  if (in[0] == out[0] && spec->outputs[0].dtype != DP_BOOL) return DP_OK;
  const dp_bit_cast_arguments a = {dp_out_count(spec, 0), in[0], out[0]};
  return dp_cuda_launch(queue, state, dp_cuda_blocks(a.count), DP_CUDA_THREADS, &a, sizeof a);
}

const dp_kernel dp_kernel_cuda_BitCast = {
    .name = "cuda.device.BitCast",
    .op = "BitCast",
    .domain = "",
    .types = DP_STORED,
    .in_place = true,
    .shares_state = true,
    .prepare = prepare,
    .enqueue = enqueue,
};
