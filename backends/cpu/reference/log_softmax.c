// LogSoftmax: x - log(sum of exp(x)) along `axis`.
#include "backends/cpu/reference/softmax.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  return dp_softmax(&(dp_call){spec, in, out, scratch, part, parts}, true);
}

const dp_kernel dp_kernel_reference_LogSoftmax = {
    .name = "cpu.reference.LogSoftmax",
    .op = "LogSoftmax",
    .domain = "",
    .parts = true,
    .in_place = true,
    .run = run,
};
