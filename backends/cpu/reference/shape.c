// Shape: the extents of the whole operand.
#include "ir/ops/shape.h"

#include "backends/cpu/reference/reference.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)in, (void)scratch, (void)part, (void)parts;
  int from, to, rank = dp_in_rank(spec, 0);
  dp_shape_range(spec->node, rank, &from, &to);
  for (int d = from; d < to; d++) ((int64_t *)out[0])[d - from] = spec->inputs[0].local.whole[d];
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Shape = {
    .name = "cpu.reference.Shape",
    .op = "Shape",
    .domain = "",
    .types = DP_STORED,
    .run = run,
};
