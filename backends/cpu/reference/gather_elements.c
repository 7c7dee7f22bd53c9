// GatherElements: picks elements along `axis`, of any type, by their bytes. A shard gives zeros for elements of other
// devices.
#include "backends/cpu/reference/element_walk.h"

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype);
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) {
    int64_t offset = 0;
    DP_TRY(dp_element_walk_at(spec, in, i, &offset));
    char *to = (char *)out[0] + i * bytes;
    if (offset < 0)
      dp_zero(to, bytes);
    else
      memcpy(to, (const char *)in[0] + offset * bytes, (size_t)bytes);
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_GatherElements = {
    .name = "cpu.reference.GatherElements",
    .op = "GatherElements",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
