// Pad: adds elements before and after the dims of the operand. Any type, by its bytes.
#include "ir/ops/pad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/pad.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"

_Static_assert((int)DP_PAD_RANK == (int)DP_MAX_RANK, "the device pads as many dims as tensors have");
_Static_assert(DP_PAD_CONSTANT == 0 && DP_PAD_EDGE == 1 && DP_PAD_REFLECT == 2 && DP_PAD_WRAP == 3,
               "the modes as device/pad.cu numbers them");

typedef struct {
  const dp_cuda_function *function;
  int width;                   // neighbours that a thread writes
  dp_pad_arguments arguments;  // but for the addresses
} pad_state;

enum { MOST_WIDTH = 8 };  // reads of a thread, one by one

// Dims that are not padded are joined to those before them: a dim that is neither, or one that gets the constant, which
// is then padded by whole rows. Returns how many are left.
static int join_dims(const dp_pad *pad, const dp_local *x, const dp_local *y, dp_pad_arguments *a) {
  int rank = 0;
  bool is_padded = false;  // the last of them
  for (int d = 0; d < x->rank; d++) {
    const bool pads = pad->begin[d] || x->extents[d] != y->extents[d];
    const bool joins = rank && !pads && (!is_padded || pad->mode == DP_PAD_CONSTANT);
    if (!joins) is_padded = pads;
    if (!joins) rank++;
    const int to = rank - 1;
    a->x_extents[to] = (joins ? a->x_extents[to] : 1) * x->extents[d];
    a->y_extents[to] = (joins ? a->y_extents[to] : 1) * y->extents[d];
    a->begin[to] = joins ? a->begin[to] * x->extents[d] : pad->begin[d];
  }
  if (rank) return rank;
  a->x_extents[0] = a->y_extents[0] = 1;
  a->begin[0] = 0;
  return 1;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_local *x = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  const dp_shape shape = {.rank = x->rank};
  const int64_t bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  dp_pad pad;
  DP_TRY(dp_pad_make(spec->node, &shape, &pad));
  pad_state s = {.width = (int)dp_min_i64(MOST_WIDTH, DP_VECTOR_BYTES / bytes),
                 .arguments = {.count = dp_local_count(y)}};
  const int rank = join_dims(&pad, x, y, &s.arguments);
  uint8_t constant[8] = {0};
  dp_element_set(spec->inputs[0].dtype, constant, dp_node_float(spec->node, "constant_value", 0));
  memcpy(&s.arguments.constant, constant, sizeof constant);
  char defines[160];
  snprintf(defines, sizeof defines,
           "#define T %s\n#define INDEX %s\n#define RANK %d\n#define MODE %d\n#define WIDTH %d\n",
           dp_cuda_type_of_bytes((size_t)bytes), s.arguments.count <= UINT32_MAX - MOST_WIDTH ? "dp_u32" : "dp_u64",
           rank, (int)pad.mode, s.width);
  DP_TRY(dp_cuda_function_add("Pad", defines, dp_cuda_source_pad, &s.function));
  pad_state *made = malloc(sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  *made = s;
  *state = made;
  return DP_OK;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  const pad_state *s = state;
  dp_pad_arguments a = s->arguments;
  a.x = in[0];
  a.y = out[0];
  a.aligned = (uintptr_t)out[0] % DP_VECTOR_BYTES == 0;
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks((a.count + s->width - 1) / s->width), DP_CUDA_THREADS, &a,
                        sizeof a);
}

const dp_kernel dp_kernel_cuda_Pad = {
    .name = "cuda.device.Pad",
    .op = "Pad",
    .domain = "",
    .types = DP_STORED,
    .shares_state = true,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
