// Operators that change nothing but the shape: the elements are copied, or stay where they are.
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

static bool match(const dp_kernel_spec *spec) {
  static const char *const names[] = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (!*spec->op->domain && !strcmp(spec->op->name, names[i])) return true;
  return false;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_cuda_path path = dp_cuda_path_dense(dp_out_count(spec, 0));
  return dp_cuda_copies_make(spec, 1, &path, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)spec, (void)scratch;
  return in[0] == out[0] ? DP_OK : dp_cuda_copy_enqueue(state, queue, in[0], out[0]);
}

const dp_kernel dp_kernel_cuda_copy = {
    .name = "cuda.copy",
    .types = DP_STORED,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
