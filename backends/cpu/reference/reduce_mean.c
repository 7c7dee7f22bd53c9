// ReduceMean: the sum over the dims `axes`, divided by the number of elements summed in the whole tensor.
#include "backends/cpu/reference/reduce.h"

#include "ir/ops/reduce.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  bool reduced[DP_MAX_RANK];
  DP_TRY(dp_reduce_axes(spec->node, dp_in_rank(spec, 0), reduced));
  return dp_reduce(&(dp_call){spec, in, out, scratch, part, parts}, reduced, true);
}

const dp_kernel dp_kernel_reference_ReduceMean = {
    .name = "cpu.reference.ReduceMean",
    .op = "ReduceMean",
    .domain = "",
    .parts = true,
    .run = run,
};
