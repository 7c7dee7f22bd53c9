// dp.Adam of float32 by vectors. In float64, like the reference kernel, whose bits it gives.
#include "backends/cpu/reference/adam.h"
#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/update.h"
#include "backends/cpu/vector/adam.h"

// A table of one function, since the state is an address of data.
static const dp_vector_adam avx2 = dp_vector_adam_avx2, avx512 = dp_vector_adam_avx512;

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_isa_table(spec, &avx2, &avx512, state); }

static bool match(const dp_kernel_spec *spec) {
  for (int i = 0; i < 4; i++)
    if (spec->inputs[i].dtype != DP_FLOAT32) return false;
  return true;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)scratch;
  if (dp_update_skips(spec, in, out, part, parts)) return DP_OK;
  const dp_vector_adam *update = state;
  const dp_adam_rule rule = dp_adam_rule_of(spec, in);
  const float *from[4];
  float *to[3];
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  if (lo == hi) return DP_OK;
  for (int i = 0; i < 4; i++) from[i] = (const float *)in[i] + lo;
  for (int k = 0; k < 3; k++) to[k] = (float *)out[k] + lo;
  (*update)(&rule, hi - lo, from[0], from[1], from[2], from[3], to[0], to[1], to[2]);
  return DP_OK;
}

const dp_kernel dp_kernel_fast_dp_Adam = {
    .name = "cpu.fast.dp.Adam",
    .op = "Adam",
    .domain = "dp",
    .priority = 5,
    .library = true,
    .parts = true,
    .isa = true,
    .in_place = true,
    .shares_state = true,
    .match = match,
    .prepare = prepare,
    .run = run,
};
