// BitCast: copies the bytes of operand 0; to bool, whether they are not 0.
#include "backends/cpu/reference/copy.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  int64_t lo, hi;
  DP_TRY(dp_copy_run(spec, state, in, out, scratch, part, parts));
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  uint8_t *bytes = out[0];
  for (int64_t i = lo; i < hi && spec->outputs[0].dtype == DP_BOOL; i++) bytes[i] = bytes[i] != 0;
  return DP_OK;
}

const dp_kernel dp_kernel_reference_BitCast = {
    .name = "cpu.reference.BitCast",
    .op = "BitCast",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .in_place = true,
    .run = run,
};
