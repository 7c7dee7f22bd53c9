// dp.CountRefused: how many elements are out of range, or 0 where there is no range.
#include "ir/graph/refusal.h"

#include "backends/cpu/reference/reference.h"

// Unsigned elements of 64 bits above INT64_MAX are only ever compared with 0.
static int64_t element_at(dp_dtype dtype, const void *x, int64_t i) {
  return dtype == DP_INT32 ? ((const int32_t *)x)[i] : ((const int64_t *)x)[i];
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch, (void)part, (void)parts;
  const dp_refusal refusal = dp_refusal_counted(spec->node);
  const int64_t limit = dp_refusal_limit(&refusal, dp_has_in(spec, 1) ? dp_scalar_i64(spec, in, 1) : 0);
  int64_t refused = 0;
  for (int64_t i = 0, count = dp_in_count(spec, 0); i < count; i++)
    refused += dp_refusal_holds(&refusal, limit, element_at(spec->inputs[0].dtype, in[0], i));
  *(int64_t *)out[0] = refused;
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_CountRefused = {
    .name = "cpu.reference.dp.CountRefused",
    .op = "CountRefused",
    .domain = "dp",
    .run = run,
};
