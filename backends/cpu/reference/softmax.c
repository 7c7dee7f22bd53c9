// Softmax: exp(x) / sum of exp(x) along `axis`.
#include "backends/cpu/reference/softmax.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_softmax(&(dp_call){spec, in, out, scratch, part, parts}, false);
}

const dp_kernel dp_kernel_reference_Softmax = {
    .name = "cpu.reference.Softmax",
    .op = "Softmax",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
