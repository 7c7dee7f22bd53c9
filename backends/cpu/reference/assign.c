// dp.Assign(w, x, skip) -> w': x, or w if skip is not 0. The result overwrites w.
#include "backends/cpu/reference/update.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  int64_t lo, hi;
  if (dp_update_skips(spec, in, out, part, parts)) return DP_OK;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  const int64_t bytes = (int64_t)dp_type_bytes(spec->outputs[0].dtype);
  dp_copy((char *)out[0] + lo * bytes, (const char *)in[1] + lo * bytes, (hi - lo) * bytes);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_Assign = {
    .name = "cpu.reference.dp.Assign",
    .op = "Assign",
    .domain = "dp",
    .types = DP_ANY_TYPE,
    .parts = true,
    .in_place = true,
    .run = run,
};
