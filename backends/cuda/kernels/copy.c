// Operators that change nothing but the shape: the elements are copied, or stay where they are.
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/kernels/region_sum.h"
#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

static bool is_plain(const dp_kernel_operand *x) { return x->layout == DP_LAYOUT_PLAIN; }

// Elements go to the same place in the plain order: where both lie otherwise, extents must be the same.
static bool takes_layouts(const dp_kernel_operand *x, const dp_kernel_operand *y) {
  return is_plain(x) || is_plain(y) || dp_cuda_region_same_extents(&x->local, &y->local);
}

static bool match(const dp_kernel_spec *spec) {
  static const char *const names[] = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (!*spec->op->domain && !strcmp(spec->op->name, names[i]))
      return takes_layouts(&spec->inputs[0], &spec->outputs[0]);
  return false;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_kernel_operand *x = &spec->inputs[0], *y = &spec->outputs[0];
  dp_cuda_path path = dp_cuda_path_dense(dp_out_count(spec, 0));
  if (x->layout != y->layout) {
    const dp_local *image = is_plain(x) ? &y->local : &x->local;
    path.rank = image->rank;
    memcpy(path.extents, image->extents, sizeof image->extents);
    dp_cuda_strides_in(x->layout, image->rank, image->extents, path.from_strides);
    dp_cuda_strides_in(y->layout, image->rank, image->extents, path.to_strides);
  }
  return dp_cuda_copies_make(spec, 1, &path, state);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  (void)scratch;
  const bool alike = spec->inputs[0].layout == spec->outputs[0].layout;
  return in[0] == out[0] && alike ? DP_OK : dp_cuda_copy_enqueue(state, queue, in[0], out[0]);
}

const dp_kernel dp_kernel_cuda_copy = {
    .name = "cuda.copy",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
